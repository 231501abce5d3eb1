"""URDF files: limits that MuJoCo does not keep; meshes in packages, and meshes that are missing."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import mujoco

from farhand.errors import ModelError
from farhand.robots.model_file import moves, one_line

READABLE = (".stl", ".obj", ".msh")
"""Kinds of mesh files that MuJoCo reads."""

LFS_POINTER = b"version https://git-lfs"


@dataclass(frozen=True)
class UrdfLimit:
    """The ``<limit>`` of one joint as written; None where the attribute is missing."""

    lower: float | None
    upper: float | None
    velocity: float | None
    effort: float | None
    continuous: bool = False  #: whether the joint's type says that it has no range

    @property
    def has_range(self) -> bool:
        """Whether it states a range; zeros and infinities at a continuous joint are none."""
        if self.lower is None or self.upper is None:
            return False
        return not self.continuous or 0.0 < self.upper - self.lower < math.inf


def is_urdf(path: Path) -> bool:
    """Whether the file holds a URDF, whatever its suffix."""
    return _root(path) is not None


def urdf_limits(path: Path) -> dict[str, UrdfLimit]:
    """The limits in a URDF by joint; empty for any other file.

    Raises:
        ModelError: a limit is a word, not a number.
    """
    root = _root(path)
    limits = {}
    for joint in [] if root is None else root.findall("joint"):
        name, limit = joint.get("name", ""), joint.find("limit")
        if limit is None:
            continue
        texts = {key: limit.get(key) for key in ("lower", "upper", "velocity", "effort")}
        try:
            numbers = {key: None if text is None else float(text) for key, text in texts.items()}
        except ValueError as error:
            raise ModelError(f"{path}: limit of joint {name}: {one_line(error)}") from None
        limits[name] = UrdfLimit(**numbers, continuous=joint.get("type") == "continuous")
    return limits


def limit_continuous(spec: mujoco.MjSpec, path: Path) -> list[str]:
    """Take continuous joints with a range for revolute ones, in place; MuJoCo drops the range.

    Returns:
        One line that names them, or nothing.
    """
    limited = []
    for name, limit in urdf_limits(path).items():
        joint = spec.joint(name)
        if joint is None or not limit.continuous:
            continue
        if not limit.has_range:
            # some versions of MuJoCo keep the infinities of a range that they do not use
            joint.range = [0.0, 0.0]
            continue
        joint.range = [limit.lower, limit.upper]
        joint.limited = mujoco.mjtLimited.mjLIMITED_TRUE
        limited.append(f"{name} from {limit.lower:g} to {limit.upper:g} rad")
    if not limited:
        return []
    return [f"{path.name}: continuous joints with a range count as revolute: {', '.join(limited)}"]


def _root(path: Path) -> ElementTree.Element | None:
    try:
        root = ElementTree.parse(path).getroot()
    except ElementTree.ParseError as error:
        # MuJoCo reads some XML that is not well-formed
        if path.suffix.lower() != ".urdf":
            return None
        raise ModelError(f"{path}: {one_line(error)}") from None
    return root if root.tag == "robot" else None


def resolve_meshes(
    spec: mujoco.MjSpec, path: Path, urdf: bool, problems: list[str] | None = None
) -> tuple[str, ...]:
    """Find the file of every mesh, in place, and leave out those not found or not readable.

    Shapes are for looks and contact; mass comes from ``<inertial>``. So a link that has one, or
    does not move, can do without shapes. Textures that are missing go too.

    Args:
        spec: of the file.
        path: the file.
        urdf: whether its meshes may be in ROS packages.
        problems: takes every lost mass; without it the first is raised.

    Returns:
        One line that names the meshes left out, or nothing.

    Raises:
        ModelError: a moving link without ``<inertial>`` would lose a shape, and so its mass.
    """
    path = path.absolute()
    left_out: dict[str, list[str]] = {}
    for mesh in [mesh for mesh in spec.meshes if mesh.file]:
        file, uri = find_mesh(mesh.file, path, spec.meshdir), mesh.file
        reason = _unreadable(file, uri)
        if not reason:
            mesh.file = str(file) if urdf else uri
            continue
        lost = _leave_out(spec, mesh, f"{path}: link", reason)
        if lost and problems is None:
            raise ModelError(lost[0])
        if problems is not None:
            problems += lost
        uris = left_out.setdefault(reason, [])
        if uri not in uris:
            uris.append(uri)
    for texture in [one for one in spec.textures if one.file]:
        if find_mesh(texture.file, path, spec.texturedir) is None:
            left_out.setdefault("not found", []).append(texture.file)
            for material in spec.materials:
                names = list(material.textures)
                material.textures = ["" if name == texture.name else name for name in names]
            spec.delete(texture)
    if not left_out:
        return ()
    lists = "; ".join(f"{reason}: {_by_folder(uris)}" for reason, uris in left_out.items())
    effect = "which changes looks and contact but no mass"
    return (f"{path.name}: these meshes were left out, {effect}: {lists}",)


def _unreadable(file: Path | None, uri: str) -> str:
    """Why MuJoCo cannot read a mesh, or nothing."""
    if Path(uri).suffix.lower() not in READABLE:
        return f"not {', '.join(READABLE[:-1])} or {READABLE[-1]}"
    if file is None:
        return "not found"
    with file.open("rb") as start:
        # what a clone without Git LFS has in place of a large file
        return "only a Git LFS pointer" if start.read(len(LFS_POINTER)) == LFS_POINTER else ""


def find_mesh(uri: str, model: Path, folder: str = "") -> Path | None:
    """The file that a mesh's name points to, or None.

    ``package://NAME/rest`` is looked for upward from the model file, in folders called NAME, in
    folders whose ``package.xml`` says so and in their children called NAME; then in
    ``ROS_PACKAGE_PATH`` and in ``share/NAME`` of ``AMENT_PREFIX_PATH``. ``model://`` means the
    same. Anything else is a path, from the model's folder.
    """
    scheme, separator, rest = uri.partition("://")
    if not separator:
        candidates = iter([model.parent / folder / uri])
    elif scheme == "file":
        candidates = iter([Path(unquote(rest))])
    elif scheme in ("package", "model"):
        name, _, inside = rest.partition("/")
        candidates = (package / inside for package in _packages(name, model))
    else:
        candidates = iter(())
    return next((path for path in candidates if os.path.isfile(path)), None)


def _by_folder(uris: list[str]) -> str:
    """Names of files, each folder named once."""
    folders: dict[str, list[str]] = {}
    for folder, slash, name in (uri.rpartition("/") for uri in uris):
        folders.setdefault(folder + slash, []).append(name)
    return ", ".join(folder + ", ".join(names) for folder, names in folders.items())


def _packages(name: str, model: Path) -> Iterator[Path]:
    """Folders that may be the package, nearest first; they need not exist."""
    for start in dict.fromkeys((model, model.resolve())):
        for folder in start.parents:
            yield from _package_at(folder, name)
    for entry in filter(None, os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep)):
        yield from _package_at(Path(entry), name)
        yield from Path(entry).glob(f"*/{name}")
    for prefix in filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)):
        yield Path(prefix) / "share" / name


def _package_at(folder: Path, name: str) -> Iterator[Path]:
    if folder.name == name or _package_name(folder) == name:
        yield folder
    yield folder / name


def _package_name(folder: Path) -> str:
    try:
        return (ElementTree.parse(folder / "package.xml").getroot().findtext("name") or "").strip()
    except (OSError, ElementTree.ParseError):
        return ""


def _leave_out(spec: mujoco.MjSpec, mesh: mujoco.MjsMesh, where: str, reason: str) -> list[str]:
    """Remove a mesh and its shapes, in place; one line for each link that loses its mass."""
    lost = []
    name = mesh.name or Path(mesh.file).stem
    for geom in [geom for geom in spec.geoms if geom.meshname == name]:
        body = geom.parent
        if moves(body) and not body.explicitinertial and geom.density != 0 and geom.mass != 0:
            missing = f"the mesh {mesh.file} that would give its mass is {reason}"
            package = ", or set ROS_PACKAGE_PATH to where the package is"
            remedy = f"add <inertial>{package if '://' in mesh.file else ', or the mesh'}"
            lost.append(f"{where} {body.name} has no <inertial>, and {missing}: {remedy}")
        spec.delete(geom)
    spec.delete(mesh)
    return lost
