import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Socket } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { readDirectly } from '../src/wire/direct-read.ts'
import { encodeFrame } from '../src/wire/frame.ts'
import { socketTransport } from '../src/wire/socket-transport.ts'

/** A process that writes to its fourth descriptor what this code of it says. */
function writing(code: string): { readonly child: ChildProcess; readonly socket: Socket } {
  const start = 'const socket = new (require("net").Socket)({ fd: 3 });'
  const child = spawn(process.execPath, ['-e', start + code], { stdio: ['ignore', 'inherit', 'inherit', 'pipe'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  return { child, socket: child.stdio[3] as Socket }
}

/** Everything that is read, as text, and a promise for when it holds some text. */
function gathering(): { readonly take: (chunk: Buffer, length: number) => void; readonly holds: (text: string) => Promise<void>; readonly all: () => string } {
  let all = ''
  let look = (): void => undefined
  return {
    take(chunk, length) {
      all += chunk.toString('utf8', 0, length)
      look()
    },
    holds: (text) => new Promise((resolve) => {
      look = () => void (all.includes(text) && resolve())
      look()
    }),
    all: () => all,
  }
}

it('reads the socket of a child process past its stream, from first to last', async () => {
  const { socket } = writing('socket.write("first"); socket.on("data", () => socket.end("x".repeat(1e6) + "last"))')
  const { take, holds, all } = gathering()
  let events = 0
  expect(readDirectly(socket, take)).toBe(true)
  socket.on('data', () => events++)
  await holds('first')
  const closed = once(socket, 'close')
  socket.write('go on')
  await closed
  expect([all().length, all().endsWith('last'), events]).toEqual([1_000_009, true, 0])
})

it('loses nothing that came before', async () => {
  const { socket } = writing('socket.write("early"); socket.on("data", () => socket.write("late"))')
  await once(socket, 'readable')
  const { take, holds, all } = gathering()
  expect(readDirectly(socket, take)).toBe(true)
  await holds('early')
  socket.write('go on')
  await holds('late')
  expect(all()).toBe('earlylate')
})

it('stops while the socket is paused', async () => {
  const { socket } = writing('socket.write("one"); socket.on("data", () => socket.write("two"))')
  const { take, holds, all } = gathering()
  readDirectly(socket, take)
  await holds('one')
  socket.pause()
  socket.write('go on')
  const other = writing('socket.write("later")')
  await once(other.socket, 'readable')
  expect(all()).toBe('one')
  socket.resume()
  await holds('two')
})

it('leaves a socket alone whose insides are others', () => {
  const socket = new Socket()
  onTestFinished(() => void socket.destroy())
  expect(readDirectly(socket, () => undefined)).toBe(false)
  expect(socket.listenerCount('data')).toBe(0)
})

it.each([
  ['its handle', (socket: Socket) => {
    Object.defineProperty(Reflect.get(socket, '_handle') as object, 'useUserBuffer', { value: undefined })
  }],
  ['its settings', (socket: Socket) => {
    for (const symbol of Object.getOwnPropertySymbols(socket)) if (symbol.description === 'kBuffer') Reflect.deleteProperty(socket, symbol)
  }],
])('a transport reads by the stream, and loses nothing, when %s is not what it was', async (_what, change) => {
  const frames = ['early', 'late'].map((text) => encodeFrame(text).toString('base64'))
  const { socket } = writing(`
    const [early, late] = ${JSON.stringify(frames)}.map((text) => Buffer.from(text, 'base64'))
    const long = Buffer.alloc(300_004, 'x')
    long.writeUInt32LE(300_000)
    socket.end(Buffer.concat([early, long, late]))
  `)
  change(socket)
  expect(readDirectly(socket, () => undefined)).toBe(false)
  const packets: unknown[] = []
  const closed = new Promise<Error | undefined>((resolve) => {
    socketTransport(socket, { maxFrameBytes: 1_000_000, readOnlyWhenDrained: true })
      .listen({ packet: (packet) => void packets.push(packet), closed: resolve })
  })
  expect(await closed).toBeUndefined()
  expect(packets).toEqual(['early', 'x'.repeat(300_000), 'late'])
})
