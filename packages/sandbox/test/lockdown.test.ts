import type { Json } from '@bulkhead/contract'
import { describe, expect, it } from 'vitest'
import { ADMITTED_GLOBALS } from '../src/worker/globals.ts'
import { invocation, newSandbox, requestOf, REMOTE, running } from './fixture.ts'

describe.each(REMOTE)('code in a %s', (placement) => {
  const evaluate = async (body: string, head = ''): Promise<Json> => {
    const session = await newSandbox().open(requestOf({ placement, source: head + running(body) }))
    return session.call(invocation())
  }

  it('finds no ambient power', async () => {
    expect(await evaluate(`
      const absent = (name) => { try { return eval('typeof ' + name) } catch (error) { return error.name } }
      return Object.fromEntries(args.names?.map((name) => [name, absent(name)]) ?? [
        'process.binding', 'process._linkedBinding', 'process.getBuiltinModule', 'process.dlopen', 'process.kill', 'process.report', 'process.mainModule',
        'process.stdout', 'process.permission', 'process.on', 'fetch', 'WebSocket', 'EventSource', 'BroadcastChannel', 'MessageChannel', 'MessagePort',
        'navigator', 'localStorage', 'sessionStorage', 'SharedArrayBuffer', 'Atomics', 'CompressionStream', 'Blob', 'File', 'crypto.subtle',
        'PerformanceObserver', 'require', 'module', 'URL.createObjectURL', 'console._stdout',
      ].map((name) => [name, absent(name)]).filter(([, type]) => type !== 'undefined'))
    `)).toEqual({})
  })

  it('sees no global beyond the list', async () => {
    const names = await evaluate('return Object.getOwnPropertyNames(globalThis)') as string[]
    expect(names.filter((name) => !ADMITTED_GLOBALS.has(name))).toEqual([])
  })

  it('has an empty environment and the facts libraries look at', async () => {
    expect(await evaluate(`
      return [Object.keys(process.env), process.argv, process.version, process.platform, process.cwd(), crypto.randomUUID().length]
    `))
      .toEqual([[], [], process.version, process.platform, '/', 36])
  })

  it('cannot change what the thread runs on', async () => {
    expect(await evaluate(`
      const attempts = {
        object: () => { Object.prototype.polluted = 1 },
        toString: () => { Object.prototype.toString = null },
        then: () => { Promise.prototype.then = null },
        iterator: () => { Array.prototype[Symbol.iterator] = null },
        next: () => { Object.getPrototypeOf([][Symbol.iterator]()).next = null },
        parse: () => { JSON.parse = null },
        emit: () => { EventEmitter.prototype.emit = null },
        dispatch: () => { EventTarget.prototype.dispatchEvent = null },
        buffer: () => { Buffer.prototype.write = null },
        call: () => { Function.prototype.call = null },
        console: () => { console.log = null },
        process: () => { globalThis.process = null },
        setter: () => { Object.getOwnPropertyDescriptor(Object.prototype, 'toString').set.call(Object.prototype, null) },
      }
      return Object.entries(attempts).filter(([, attempt]) => { try { attempt(); return true } catch (error) { return error.name !== 'TypeError' } }).map(([name]) => name)
    `, 'import EventEmitter from "node:events"; ')).toEqual([])
  })

  it('can still be written as code is written', async () => {
    expect(await evaluate(`
      class Failure extends Error { constructor(message) { super(message); this.name = 'Failure'; this.toString = () => 'told' } }
      class List extends Array { get last() { return this.at(-1) } }
      function Old() {} Old.prototype.toString = function () { return 'old' }; Old.prototype.constructor = Old
      const emitter = new EventEmitter(); let heard = 0; emitter.once('x', () => heard++); emitter.emit('x'); emitter.emit('x')
      const target = new EventTarget(); target.addEventListener('y', () => heard++); target.dispatchEvent(new Event('y'))
      Error.stackTraceLimit = 5
      const plain = { constructor: 1 }; plain.hasOwnProperty = 2; plain.valueOf = 3
      await setTimeout(1)
      const stream = new ReadableStream({ start(c) { c.enqueue('s'); c.close() } })
      const read = []; for await (const chunk of stream) read.push(chunk)
      return [String(new Failure('x')), new Failure('x').name, new List(1, 2, 3).last, String(new Old()), heard, Object.keys(plain), read, inspect({ a: 1 }), path.join('a', 'b')]
    `, 'import EventEmitter from "node:events"; import { setTimeout } from "node:timers/promises"; import { inspect } from "util"; import path from "node:path"; '))
      .toEqual(['told', 'Failure', 3, 'old', 2, ['constructor', 'hasOwnProperty', 'valueOf'], ['s'], '{ a: 1 }', 'a/b'])
  })

  it('reaches no process object with power through the machinery of Node', async () => {
    expect(await evaluate(`
      const found = []
      const look = (value) => { if (value !== null && typeof value === 'object' && 'binding' in value) found.push('binding') }
      look(Object.getPrototypeOf(process)); look(globalThis.global.process)
      const emitter = new EventEmitter({ captureRejections: true })
      emitter[Symbol.for('nodejs.rejection')] = look
      Error.prepareStackTrace = undefined
      return found
    `.replace('Error.prepareStackTrace = undefined', 'try { Error.prepareStackTrace = (_, sites) => sites.map((site) => look(site.getThis?.())) } catch {}'), 'import EventEmitter from "node:events"; ')).toEqual([])
  })
})
