// A worker that never was ours: it speaks just enough of the protocol to be opened, then does to the channel what the attack
// says. Over a port it can post anything, over a socket write any bytes. Against a bare Comlink it leaves the envelopes away.
import { Socket } from 'node:net'
import { MessageChannel, workerData } from 'node:worker_threads'

const CHANNEL_FD = 4
const { port, bare } = workerData
const socket = port === undefined ? new Socket({ fd: CHANNEL_FD }) : undefined

function frame(text) {
  const body = Buffer.from(text)
  const bytes = Buffer.alloc(4 + body.length)
  bytes.writeUInt32LE(body.length)
  body.copy(bytes, 4)
  return bytes
}

/** A packet as it is. What a socket cannot carry goes out as the text of it. */
const post = (packet, transfer) => {
  if (port !== undefined) return port.postMessage(packet, transfer)
  socket.write(frame(typeof packet === 'string' ? packet : JSON.stringify(packet) ?? 'undefined'))
}
const send = (...envelopes) => bare === undefined ? post(JSON.stringify(envelopes)) : envelopes.forEach(([, message]) => port.postMessage(message))
const reply = (id, value) => send(['call', { id, type: 'RAW', value }])
const raw = (value) => ({ type: 'RAW', value })

let asked = 0
const ask = (message) => send(['broker', { id: `forged-${++asked}`, ...message }])

const answers = new Map()
const answerTo = (id) => new Promise((resolve) => answers.set(id, resolve))

/** Makes a function of this text on the other side, by this path, and runs it if the answer is a way to it. */
async function construct(path, code) {
  const id = `forged-${++asked}`
  const answer = answerTo(id)
  send(['broker', { id, type: 'CONSTRUCT', path, argumentList: [raw(code)] }])
  const { value } = await answer
  value?.postMessage?.({ id: 'run', type: 'APPLY', path: [], argumentList: [] })
}

const wire = { port, socket, post, send, reply, raw, ask, construct, frame, MessageChannel }
const attacks = new Map()
const load = (text) => import(`data:text/javascript,${encodeURIComponent(text)}`)

async function receive(message) {
  answers.get(message.id)?.(message)
  const [method] = message.path ?? []
  const args = (message.argumentList ?? []).map(({ value }) => value)
  if (method === 'load') {
    const [{ files, tools }] = args
    for (const [path, base64] of files) attacks.set(path, Buffer.from(base64, 'base64').toString())
    return reply(message.id, { tools: tools.map(({ name }) => ({ name, approvalKey: false })), phases: [] })
  }
  if (method === 'execute') {
    const [callId, , { id, facts }] = args
    const { default: attack } = await load(attacks.get(`attack-${id}.js`))
    const outcome = await attack(facts, { ...wire, callId, id: message.id })
    if (outcome !== undefined) reply(message.id, outcome)
  }
}

const receivePacket = (text) => JSON.parse(text).forEach(([, message]) => receive(message))

if (bare !== undefined) {
  port.on('message', receive)
  const { default: attack } = await load(bare.source)
  await attack(bare.facts, { ...wire, callId: 'bare', id: 'bare' })
} else if (port !== undefined) port.on('message', receivePacket)
else {
  let buffered = Buffer.alloc(0)
  socket.on('data', (chunk) => {
    buffered = Buffer.concat([buffered, chunk])
    while (buffered.length >= 4 && buffered.length >= 4 + buffered.readUInt32LE()) {
      const end = 4 + buffered.readUInt32LE()
      const text = buffered.toString('utf8', 4, end)
      buffered = buffered.subarray(end)
      receivePacket(text)
    }
  })
  socket.on('error', () => undefined)
  socket.on('close', () => process.exit(0))
}
