// A worker that the attacker controls. It follows the protocol until it is opened, then lets the attack use the
// channel. It can post any value over a port and write any bytes to a socket. Against plain Comlink it sends no
// envelopes.
import { once } from 'node:events'
import { Socket } from 'node:net'
import { MessageChannel, parentPort, workerData } from 'node:worker_threads'

const CHANNEL_FD = 4
const { bare, inHull } = workerData
const port = inHull === false ? (await once(parentPort, 'message'))[0].port : workerData.port
const socket = port === undefined ? new Socket({ fd: CHANNEL_FD }) : undefined

/** The kinds of messages by channel: request, value and error. */
const KINDS = { call: [0, 1, 2], broker: [3, 4, 5] }

/** A message of Comlink in the protocol's form. A message without such a form is sent as it is. */
function short([channel, message]) {
  const [request, value, failure] = Object.hasOwn(KINDS, channel) ? KINDS[channel] : []
  const { id, type, path = [], argumentList, ...rest } = message ?? {}
  const plain = Array.isArray(argumentList) && argumentList.every((argument) => argument?.type === 'RAW')
  if (type === 'APPLY' && plain && path.length === 1) return [
    request, id, path[0], argumentList.map(({ value: own }) => own),
  ]
  if (type === 'RAW' && 'value' in rest) return [value, id, rest.value]
  if (type === 'HANDLER' && rest.name === 'throw') return [failure, id, rest.value?.value]
  return [channel, message]
}

/** The reverse. Long strings of a packet are beside it, and their places at the end of a message. */
function read(packet) {
  const [json, ...texts] = [packet].flat()
  const parsed = JSON.parse(json)
  if (!Array.isArray(parsed)) return []
  return (typeof parsed[0] === 'number' ? [parsed] : parsed).map(([kind, id, third, args, holes]) => {
    if (KINDS.call[0] === kind || KINDS.broker[0] === kind) {
      for (const path of holes ?? []) path.slice(0, -1).reduce(
        (at, step) => at[step], args,
      )[path.at(-1)] = texts.shift()
      return { id, path: [third], argumentList: args.map(raw) }
    }
    return kind === KINDS.call[1] || kind === KINDS.broker[1] ? { id, type: 'RAW', value: third }
      : { id, type: 'HANDLER', name: 'throw', value: { isError: true, value: third } }
  })
}

function frame(text) {
  const body = Buffer.from(text)
  const bytes = Buffer.alloc(4 + body.length)
  bytes.writeUInt32LE(body.length)
  body.copy(bytes, 4)
  return bytes
}

/** The strings of a frame of several, each after its length. */
function textsIn(body) {
  const texts = []
  for (let at = 0; at < body.length;) {
    // The highest bit says that the string is Latin-1.
    const end = at + 4 + (body.readUInt32LE(at) & 0x7fff_ffff)
    texts.push(body.toString('utf8', at + 4, end))
    at = end
  }
  return texts
}

/** A raw packet. Over a socket, anything but a string is sent as its string. */
const post = (packet, transfer) => {
  if (port !== undefined) return port.postMessage(packet, transfer)
  socket.write(frame(typeof packet === 'string' ? packet : JSON.stringify(packet) ?? 'undefined'))
}
/** Several strings in one frame, as the protocol carries long ones. */
const postSeveral = (...texts) => {
  if (port !== undefined) return port.postMessage(texts)
  const body = Buffer.concat(texts.map(frame))
  const header = Buffer.alloc(4)
  header.writeUInt32LE(body.length + 0x8000_0000)
  socket.write(Buffer.concat([header, body]))
}
const send = (...envelopes) => {
  if (bare === undefined) return post(JSON.stringify(envelopes.map(short)))
  for (const [, message] of envelopes) port.postMessage(message)
}
const reply = (id, value) => send(['call', { id, type: 'RAW', value }])
const raw = (value) => ({ type: 'RAW', value })

let asked = 0
const ask = (message) => send(['broker', { id: ++asked, ...message }])

const answers = new Map()
const answerTo = (id) => new Promise((resolve) => answers.set(id, resolve))

/** Constructs a function from this source on the other side, by this path, and calls it if a proxy is returned. */
async function construct(path, code) {
  const id = ++asked
  const answer = answerTo(id)
  send(['broker', { id, type: 'CONSTRUCT', path, argumentList: [raw(code)] }])
  const { value } = await answer
  if (value?.postMessage === undefined) return
  value.postMessage({ id: 'run', type: 'APPLY', path: [], argumentList: [] })
  await once(value, 'message')
}

const wire = { port, socket, post, postSeveral, send, read, reply, raw, ask, construct, frame, MessageChannel }
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

/** Over a socket the first packet has the limits of the compartment. They are ignored here. */
const receivePacket = (packet) => read(packet).forEach((message) => void receive(message))

if (bare !== undefined) {
  port.on('message', receive)
  const { default: attack } = await load(bare.source)
  await attack(bare.facts, { ...wire, callId: 'bare', id: 'bare' })
  // A reply to this proves that all earlier messages were received.
  const last = answerTo('last')
  port.postMessage({ id: 'last', type: 'APPLY', path: ['progress'], argumentList: [] })
  await last
  parentPort.postMessage('over')
} else if (port !== undefined) port.on('message', receivePacket)
else {
  let buffered = Buffer.alloc(0)
  socket.on('data', (chunk) => {
    buffered = Buffer.concat([buffered, chunk])
    for (;;) {
      if (buffered.length < 4) return
      const header = buffered.readUInt32LE()
      const end = 4 + (header & 0x7fff_ffff)
      if (buffered.length < end) return
      const body = buffered.subarray(4, end)
      buffered = buffered.subarray(end)
      receivePacket(header === end - 4 ? body.toString() : textsIn(body))
    }
  })
  socket.on('error', () => undefined)
  socket.on('close', () => process.exit(0))
}
