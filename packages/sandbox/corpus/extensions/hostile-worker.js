// A worker that never was ours: it speaks just enough of the protocol to be opened, then does to the channel what the attack
// says. Over a port it can post anything; over a socket it can write any bytes.
import { Socket } from 'node:net'
import { workerData } from 'node:worker_threads'

const CHANNEL_FD = 4
const { port } = workerData
const socket = port === undefined ? new Socket({ fd: CHANNEL_FD }) : undefined

function bytes(text) {
  const body = Buffer.from(text)
  const frame = Buffer.alloc(4 + body.length)
  frame.writeUInt32LE(body.length)
  body.copy(frame, 4)
  return frame
}

const post = (packet, transfer) => {
  if (port !== undefined) return port.postMessage(packet, transfer)
  socket.write(bytes(typeof packet === 'string' ? packet : JSON.stringify(packet) ?? 'undefined'))
}
const send = (...envelopes) => post(JSON.stringify(envelopes))
const reply = (id, value) => send(['call', { id, type: 'RAW', value }])

const waiting = []
const unread = []
const wire = {
  port, socket, post, send, reply, bytes,
  /** The next message of the host that nobody took. */
  next: () => unread.length > 0 ? Promise.resolve(unread.shift()) : new Promise((take) => waiting.push(take)),
}

const attacks = new Map()

async function receive([, message]) {
  const [method] = message.path ?? []
  const args = (message.argumentList ?? []).map(({ value }) => value)
  if (method === 'load') {
    const [{ files, tools }] = args
    for (const [path, base64] of files) attacks.set(path, Buffer.from(base64, 'base64').toString())
    return reply(message.id, { tools: tools.map(({ name }) => ({ name, approvalKey: false })), phases: [] })
  }
  if (method === 'execute') {
    const [callId, , { id, facts }] = args
    const { default: attack } = await import(`data:text/javascript,${encodeURIComponent(attacks.get(`attack-${id}.js`))}`)
    const outcome = await attack(facts, { ...wire, callId, id: message.id })
    if (outcome !== undefined) reply(message.id, outcome)
    return
  }
  const take = waiting.shift()
  if (take === undefined) unread.push(message)
  else take(message)
}

const packet = (text) => JSON.parse(text).forEach(receive)

if (port !== undefined) port.on('message', packet)
else {
  let buffered = Buffer.alloc(0)
  socket.on('data', (chunk) => {
    buffered = Buffer.concat([buffered, chunk])
    while (buffered.length >= 4 && buffered.length >= 4 + buffered.readUInt32LE()) {
      const end = 4 + buffered.readUInt32LE()
      const text = buffered.toString('utf8', 4, end)
      buffered = buffered.subarray(end)
      packet(text)
    }
  })
  socket.on('error', () => undefined)
  socket.on('close', () => process.exit(0))
}
