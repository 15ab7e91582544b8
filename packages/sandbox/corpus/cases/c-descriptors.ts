import { attacksOf } from '../model/case.ts'

const attack = attacksOf('C')

export const descriptors = [
  attack(31, 'lists open descriptors', `
    return { scan: await attempt(async () => {
      const { fstatSync } = real(await reach('fs'))
      const isOpen = (fd) => { try { return fstatSync(fd) } catch { return false } }
      const open = Array.from({ length: 64 }, (_, fd) => fd).filter(isOpen)
      if (!open.includes(facts.fds.secret)) throw { code: 'own process only' }
      return open
    }) }
  `, { scan: 'shim' }),
  attack(32, 'reads a descriptor of the host', `
    return { read: await attempt(async () => {
      const bytes = Buffer.alloc(64)
      ;(await reach('fs')).readSync(facts.fds.secret, bytes, 0, 64, 0)
      return bytes
    }) }
  `, { read: 'BuiltinDenied' }),
  attack(33, 'writes to a descriptor of the host', `
    return {
      log: await attempt(async () => (await reach('fs')).writeSync(facts.fds.log, 'forged line\\n')),
      stderr: await attempt(async () => {
        const written = (await reach('fs')).writeSync(2, 'forged line\\n')
        return written
      }),
    }
  `, { log: 'BuiltinDenied', stderr: 'BuiltinDenied' }),
  attack(34, 'closes descriptors of the host', `
    return { close: await attempt(async () => {
      const { closeSync } = await reach('fs')
      for (const fd of Object.values(facts.fds)) closeSync(fd)
      return 'closed'
    }) }
  `, { close: 'BuiltinDenied' }),
  attack(35, 'writes to the pipes of libuv', `
    return { pipes: await attempt(async () => {
      const { fstatSync, writeSync } = real(await reach('fs'))
      let written = 0
      for (let fd = 3; fd < 64; fd++) {
        try {
          if (fstatSync(fd).isFIFO()) written += writeSync(fd, Buffer.alloc(16, 0xff))
        } catch {}
      }
      return written
    }) }
  `, { pipes: 'shim' }),
  attack(36, 'writes to event counters', `
    return { counters: await attempt(async () => {
      const { fstatSync, writeSync } = real(await reach('fs'))
      let written = 0
      for (let fd = 3; fd < 64; fd++) {
        try {
          const found = fstatSync(fd)
          const known = found.isFIFO() || found.isSocket() || found.isFile() || found.isCharacterDevice()
          if (!known) written += writeSync(fd, Buffer.alloc(8, 1))
        } catch {}
      }
      if (written === 0) throw { code: 'none' }
      return written
    }) }
  `, { counters: 'shim' }),
  attack(37, 'wraps a socket of the host', `
    return { socket: await attempt(async () => {
      const { Socket } = await reach('net')
      const socket = new Socket({ fd: facts.fds.socket, readable: true, writable: true })
      await new Promise((written, failed) => socket.on('error', failed).write('forged', written))
      return 'written'
    }) }
  `, { socket: 'BuiltinDenied' }),
  attack(38, 'opens a terminal', `
    return {
      tty: await attempt(async () => {
        const { WriteStream, ReadStream } = await reach('tty')
        return [0, 1, 2, facts.fds.log].map((fd) => new WriteStream(fd).isTTY)
      }),
      device: await attempt(() => runtime.fs.readText('/dev/tty')),
    }
  `, { tty: 'BuiltinDenied', device: 'CapabilityDenied' }, { control: 'inert' }),
  attack(39, 'sends a file handle to another thread', `
    return {
      ports: await attempt(() => use(globalThis, 'MessageChannel') && 'there'),
      threads: await attempt(async () => typeof (await reach('worker_threads')).MessageChannel),
      handle: await attempt(async () => (await reach('fs/promises')).open('/dev/null')),
      clone: await attempt(() => {
        const stream = new ReadableStream()
        const copy = structuredClone(stream, { transfer: [stream] })
        const ports = Object.getOwnPropertySymbols(stream).flatMap((symbol) =>
          Object.values(stream[symbol]?.transfer ?? {}))
        const reachable = ports.filter((port) => port?.postMessage && port.constructor?.name === 'MessagePort')
        if (reachable.length === 0) throw { code: 'no port' }
        // The port of a stream leads to its other end in the same thread.
        reachable[0].postMessage({ type: 'zzz' })
        throw { code: 'own port only' }
      }),
    }
  `, { ports: 'absent', threads: 'BuiltinDenied', handle: 'BuiltinDenied', clone: 'DataCloneError' }),
  attack(40, 'opens a stream over a descriptor of the host', `
    return { stream: await attempt(async () => {
      const { createReadStream } = await reach('fs')
      const pieces = await createReadStream('', { fd: facts.fds.secret, start: 0, autoClose: false }).toArray()
      return Buffer.concat(pieces)
    }) }
  `, { stream: 'BuiltinDenied' }),
  attack(310, 'sends a clone that is deserialized as a file handle', `
    const word = Object.getOwnPropertySymbols(DOMException.prototype).find((key) =>
      /messaging_clone/.test(key.description))
    const file = (fd) => structuredClone(Object.defineProperty(new DOMException('x'), word, {
      value: () => ({ data: { handle: { fd } }, deserializeInfo: 'internal/fs/promises:FileHandle' }),
    }))
    const bytes = new Uint8Array(100)
    return {
      read: await attempt(async () =>
        bytes.subarray(0, (await file(facts.fds.secret).read(bytes, 0, 100, 0)).bytesRead)),
      write: await attempt(async () => (await file(facts.fds.log).write('forged')).bytesWritten),
    }
  `, { read: 'TypeError', write: 'TypeError' }),
  attack(311, 'sends such a clone with a proxy as the prototype', `
    const trapped = (fd) => new Proxy(DOMException.prototype, {
      get: (target, key, receiver) => /messaging_clone/.test(key.description ?? '')
        ? () => ({ data: { handle: { fd } }, deserializeInfo: 'internal/fs/promises:FileHandle' })
        : Reflect.get(target, key, receiver),
    })
    const file = (fd) => structuredClone(Object.setPrototypeOf(new DOMException('x'), trapped(fd)))
    const bytes = new Uint8Array(100)
    return {
      read: await attempt(async () =>
        bytes.subarray(0, (await file(facts.fds.secret).read(bytes, 0, 100, 0)).bytesRead)),
      write: await attempt(async () => (await file(facts.fds.log).write('forged')).bytesWritten),
    }
  `, { read: 'TypeError', write: 'TypeError' }),
]
