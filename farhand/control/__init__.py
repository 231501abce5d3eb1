"""Local control: what turns an effort or a reference into what a plant accepts, and the paths references follow."""
