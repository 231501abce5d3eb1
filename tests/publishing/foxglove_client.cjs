// Foxglove's own client: subscribes to every channel until each has spoken, sets a parameter, asks
// for it, and calls a service. Prints what it got as JSON.
const { FoxgloveClient } = require("@foxglove/ws-protocol");
const WebSocket = require("ws");

const [address, parameter, value, service] = process.argv.slice(2);
const found = { channels: {}, messages: {}, parameters: [], services: [], answer: null };
const client = new FoxgloveClient({ ws: new WebSocket(address, ["foxglove.sdk.v1"]) });
const topics = new Map();

client.on("error", (error) => {
  console.error(String(error));
  process.exit(1);
});
client.on("advertise", (channels) => {
  for (const channel of channels) {
    found.channels[channel.topic] = channel;
    topics.set(client.subscribe(channel.id), channel.topic);
  }
});
client.on("advertiseServices", (services) => {
  found.services = services.map((one) => one.name);
  const id = services.find((one) => one.name === service).id;
  const data = new DataView(new TextEncoder().encode("{}").buffer);
  client.setParameters([{ name: parameter, value: Number(value) }], "set");
  client.sendServiceCallRequest({ serviceId: id, callId: 1, encoding: "json", data });
});
client.on("parameterValues", ({ parameters, id }) => {
  if (id === "set") found.parameters = parameters;
});
client.on("serviceCallResponse", ({ data }) => {
  found.answer = JSON.parse(new TextDecoder().decode(data));
});
client.on("message", ({ subscriptionId, data }) => {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  found.messages[topics.get(subscriptionId)] ??= bytes.toString("base64");
});
const end = Date.now() + 20000;
const timer = setInterval(() => {
  const silent = Object.keys(found.channels).filter((topic) => !(topic in found.messages));
  const all = found.services.length && !silent.length && found.parameters.length && found.answer;
  if (all || Date.now() > end) {
    clearInterval(timer);
    process.stdout.write(JSON.stringify(found), () => process.exit(0));
  }
}, 50);
