package infile

// nonblock is nothing: the simulation, which alone is built for this, has no pipes.
const nonblock = 0
