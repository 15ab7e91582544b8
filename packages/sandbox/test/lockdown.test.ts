import { readFileSync } from 'node:fs'
import type { Json } from '@bulkhead/kit/json'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSandbox } from '../src/index.ts'
import { ALLOWED_GLOBALS, SHIM_GLOBALS } from '../src/worker/allow-list.ts'
import { invocation, newSandbox, requestOf, REMOTE, running } from './fixture.ts'

const ABSENT = [
  'process.binding', 'process._linkedBinding', 'process.getBuiltinModule', 'process.dlopen', 'process.kill',
  'process.report',
  'process.mainModule', 'process.permission', 'process.memoryUsage', 'process.stdout._handle', 'WebSocket',
  'EventSource', 'BroadcastChannel', 'MessageChannel', 'MessagePort', 'navigator', 'localStorage', 'sessionStorage',
  'SharedArrayBuffer',
  'Atomics', 'CompressionStream', 'Blob', 'File', 'crypto.subtle', 'PerformanceObserver', 'require', 'module',
  'URL.createObjectURL', 'console._stdout',
]
/** Declared by the boot script. */
const BOOT = [
  ...readFileSync(new URL('../thread.cjs', import.meta.url), 'utf8').matchAll(/const (?:\{ (.*) \}|(\w+)) =/g),
].flatMap(([, several, one]) => one ?? several!.split(', '))

describe.each(REMOTE)('code in a %s', (placement) => {
  const evaluate = async (body: string, head = ''): Promise<Json> => {
    const session = await newSandbox().open(requestOf({ placement, source: head + running(body) }))
    return session.call(invocation())
  }

  /** What code that changes nothing finds, in one compartment. */
  let found: Readonly<Record<'names' | 'globals' | 'process' | 'others', Json>>
  const sandbox = createSandbox({ workspace: '/', spares: { process: 0, thread: 0 } })
  beforeAll(async () => {
    const source = running(`return {
      names: args.names.filter((name) => eval('typeof ' + name) !== 'undefined'),
      globals: Object.getOwnPropertyNames(globalThis),
      process: [process.env, process.argv, process.version, process.platform, process.cwd()],
      others: [crypto.randomUUID().length, performance.now() > 0],
    }`)
    const session = await sandbox.open(requestOf({ placement, source }))
    found = await session.call(invocation({ names: [...ABSENT, ...BOOT, 'Object'] })) as typeof found
  })
  afterAll(() => sandbox.close())

  it('finds no ambient access, and does not see the names of the boot script', () => {
    expect(BOOT).toContain('getBuiltinModule')
    expect(found.names).toEqual(['Object'])
  })

  it('has no global outside the allow list', () => {
    const names = found.globals as string[]
    expect(names.filter((name) => !ALLOWED_GLOBALS.has(name) && !SHIM_GLOBALS.includes(name as never))).toEqual([])
  })

  it('has an empty environment, and the properties of process that libraries read', () => {
    const { version, platform } = process
    expect(found.process).toEqual([{}, [], version, platform, '/'])
    expect(found.others).toEqual([36, true])
  })

  it('cannot change the intrinsics', async () => {
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
        stacks: () => { Error.prepareStackTrace = () => [] },
        console: () => { console.log = null },
        process: () => { globalThis.process = null },
        setter: () => {
          Object.getOwnPropertyDescriptor(Object.prototype, 'toString').set.call(Object.prototype, null)
        },
      }
      const succeeds = (attempt) => {
        try { attempt() } catch (error) { return error.name !== 'TypeError' }
        return true
      }
      return Object.entries(attempts).filter(([, attempt]) => succeeds(attempt)).map(([name]) => name)
    `, 'import EventEmitter from "node:events"; ')).toEqual([])
  })

  it('cannot find the function of ours that calls it', async () => {
    const source = `
      let found
      globalThis.report = (caller) => { found = String(caller) }
      const extension = { tools: { run: { execute: () => found } } }
      Object.defineProperty(extension, 'init', { get: new Function('report(arguments.callee.caller)') })
      export default extension
    `
    const session = await newSandbox().open(requestOf({ placement, source }))
    expect(await session.call(invocation())).toBe('null')
  })

  it('cannot see the requests of our side by replacing globals', async () => {
    expect(await evaluate(`
      const names = ['Array', 'Map', 'Math', 'Number', 'Object', 'Promise', 'Proxy', 'WeakMap', 'FinalizationRegistry']
      const seen = new Set()
      const originals = names.map((name) => [name, globalThis[name]])
      const spy = (name, original) => {
        const note = (work) => (...args) => { seen.add(name); return work(...args) }
        const traps = Object.fromEntries(['get', 'apply', 'construct'].map((trap) => [trap, note(Reflect[trap])]))
        return new Proxy(original, traps)
      }
      const spies = originals.map(([name, original]) => spy(name, original))
      names.forEach((name, at) => { globalThis[name] = spies[at] })
      const log = runtime.log.info('first use of this method')
      const progress = runtime.progress('another')
      for (let at = 0; at < names.length; at++) globalThis[names[at]] = originals[at][1]
      await progress
      return [...seen]
    `)).toEqual([])
  })

  it('can use the usual features of the language and of the allowed builtins', async () => {
    const imports = `
      import EventEmitter from 'node:events'
      import path from 'path'
      import { setTimeout } from 'node:timers/promises'
      import { inspect } from 'node:util'
    `
    expect(await evaluate(`
      class Failure extends Error {
        constructor(message) { super(message); this.name = 'Failure'; this.toString = () => 'printed' }
      }
      class List extends Array { get last() { return this.at(-1) } }
      function Old() {}
      Old.prototype.toString = function () { return 'old' }
      Old.prototype.constructor = Old
      const emitter = new EventEmitter()
      let fired = 0
      emitter.once('x', () => fired++)
      emitter.emit('x')
      emitter.emit('x')
      const target = new EventTarget()
      target.addEventListener('y', () => fired++)
      target.dispatchEvent(new Event('y'))
      Error.stackTraceLimit = 5
      const plain = { constructor: 1 }
      plain.hasOwnProperty = 2
      plain.valueOf = 3
      await setTimeout(1)
      const stream = new ReadableStream({ start(controller) { controller.enqueue('s'); controller.close() } })
      const read = []
      for await (const chunk of stream) read.push(chunk)
      const failure = new Failure('x')
      return [
        String(failure), failure.name, new List(1, 2, 3).last, String(new Old()), fired, Object.keys(plain), read,
        inspect({ a: 1 }), path.join('a', 'b'),
      ]
    `, imports)).toEqual([
      'printed', 'Failure', 3, 'old', 2, ['constructor', 'hasOwnProperty', 'valueOf'], ['s'], '{ a: 1 }', 'a/b',
    ])
  })

  it('has all kinds of web streams', async () => {
    expect(await evaluate(`
      const bytes = new TextEncoder().encode('h\u00e4')
      const double = new TransformStream({ transform(part, controller) { controller.enqueue(part + part) } })
      const [one, other] = ReadableStream.from([bytes.subarray(0, 2), bytes.subarray(2)]).tee()
      const texts = one.pipeThrough(new TextDecoderStream()).pipeThrough(double)
      return [await Array.fromAsync(texts), (await Array.fromAsync(other)).length]
    `)).toEqual([['hh', '\u00e4\u00e4'], 2])
  })

  it.each([
    ['reads them', ''],
    ['has replaced the functions that freeze', `
      const nothing = () => undefined
      globalThis.Reflect = { ownKeys: () => [], deleteProperty: nothing }
      globalThis.Object = { freeze: nothing, defineProperty: nothing, getOwnPropertySymbols: () => [] }
      globalThis.Set = class { has() { return true } add() {} }
    `],
    ['reads them when the stack overflows, at every depth', `
      const look = (name) => { try { globalThis[name] } catch {} }
      const fall = () => { try { fall() } finally { look('TextDecoderStream'); look('ReadableStream') } }
      try { fall() } catch {}
    `],
  ])('gets locked-down streams when it %s', async (_who, before) => {
    expect(await evaluate(`
      const kept = { Object, Reflect, Set }
      const { assign, getOwnPropertySymbols, isFrozen } = Object
      ${before}
      const made = [new TextDecoderStream().readable.constructor, WritableStream, TransformStream]
      assign(globalThis, kept)
      return made.map(({ name, prototype }) => [
        name, isFrozen(prototype), getOwnPropertySymbols(prototype).some((key) => String(key).includes('messaging_')),
      ])
    `)).toEqual([['ReadableStream', true, false], ['WritableStream', true, false], ['TransformStream', true, false]])
  })
})
