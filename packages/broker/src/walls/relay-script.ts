/**
 * The part of a script that passes connections to the socket at `path`, which the host's relay serves. `kept` lists the
 * descriptors of the program that the script starts with `stdio`. It defines `server`, which does not listen yet.
 */
export const PASS_CONNECTIONS = `
const { connect, createServer } = require('node:net')
const { spawn } = require('node:child_process')
const descriptors = kept.split(',').map(Number)
const stdio = Array.from({ length: Math.max(...descriptors) + 1 }, (_, fd) => descriptors.includes(fd) ? fd : 'ignore')
const server = createServer({ allowHalfOpen: true }, (client) => {
  const relay = connect({ path, allowHalfOpen: true })
  client.on('error', () => relay.destroy()).pipe(relay)
  relay.on('error', () => client.destroy()).pipe(client)
})`
