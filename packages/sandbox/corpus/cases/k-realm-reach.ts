import { attacksOf, refused } from '../model/case.ts'

const attack = attacksOf('K', { alone: true })

/** What can be reached from inside by using only what was provided. */
export const realmReach = [
  attack(271, 'walks over every reachable object', `
    const builtins = ['assert', 'buffer', 'events', 'path', 'querystring', 'string_decoder', 'timers',
      'timers/promises',
      'url', 'util', 'util/types']
    const roots = [globalThis, runtime, import.meta, await import('@bulkhead/contract'),
      ...await Promise.all(builtins.map((name) => import('node:' + name)))]
    roots.push(setTimeout(() => {}), setImmediate(() => {}), new AbortController().signal, runtime.signal,
      new ReadableStream().getReader(), (async () => {})(),
      await runtime.fs.readText('/x').catch((error) => error), new (await import('node:events')).EventEmitter(),
      new WebAssembly.Memory({ initial: 1 }))
    const met = new Set()
    const found = new Set()
    const queue = roots.map((value) => [value, ''])
    const powers = ['_fatalException', 'postMessage', 'binding', '_linkedBinding', 'dlopen', 'getBuiltinModule', 'kill',
      'reallyExit', '_rawDebug', '_handle', 'openSync', 'spawnSync', 'createRequire', 'registerHooks',
      'connectToMainThread',
      '_load']
    while (queue.length > 0 && met.size < 60_000) {
      const [value, path] = queue.pop()
      if ((typeof value !== 'object' && typeof value !== 'function') || value === null || met.has(value)) continue
      met.add(value)
      let descriptors
      try { descriptors = Object.getOwnPropertyDescriptors(value) } catch { continue }
      for (const key of Reflect.ownKeys(descriptors)) {
        const { value: member, get, set } = descriptors[key]
        if (powers.includes(key) && (typeof member === 'function' || get)) found.add(key)
        queue.push([member, path], [get, path], [set, path])
        if (get && !/^(caller|callee|arguments)$/.test(String(key))) try {
          const read = value[key]
          // A rejection that nothing handles ends the compartment, and with it the report.
          if (read instanceof Promise) read.catch(() => {})
          queue.push([read, path])
        } catch {}
      }
      queue.push([Object.getPrototypeOf(value), path])
    }
    return { many: met.size > 500, powers: found.size > 0 ? { got: [...found].sort() } : 'none' }
  `, { many: true, powers: 'none' }),
  attack(272, 'reads a file by an assertion that names it as its source', `
    const { default: assert } = await import('node:assert')
    const named = (url) => {
      try {
        globalThis.ok = assert.ok
        globalThis.eval('\\n'.repeat(0) + 'ok(false)\\n//# sourceURL=' + url)
      } catch (error) {
        return error.message
      }
    }
    const texts = [named('file://' + facts.outside + '/secret.txt'), named(facts.outside + '/secret.txt'),
      named('file:///etc/passwd')]
    return { leaked: texts.some((text) => /CANARY-|root:/.test(text)) ? { got: texts } : 'nothing' }
  `, { leaked: 'nothing' }, { alone: false, control: 'inert' }),
  attack(273, 'replaces globals that the compartment uses', `
    const assign = Object.assign
    const forged = { type: 'CONSTRUCT', path: ['fs.read', 'constructor'],
      argumentList: [{ type: 'RAW', value: 'globalThis.corpusOwned = 1' }] }
    globalThis.Object = Object.create(Object, { assign: { value: (first, ...rest) => assign(first, ...rest, first.id
      && forged) } })
    runtime.progress('forged on its way out')
    return { forged: 'nothing' }
  `, { forged: 'nothing' }, { control: 'none' }),
  attack(274, 'exports accessors and proxies', `
    return 'never loaded'
  `, [['open', refused('ExportsMismatch')]], {
    files: {
      'index.js': `
        let reads = 0
        const tools = new Proxy({}, {
          ownKeys: () => ++reads > 1 ? ['run'] : ['run', '__proto__', 'constructor', '\\u001b[2J'],
          getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }),
          get: () => ({ execute() { return 'x' } }),
        })
        export default { get tools() { return tools } }
      `,
    },
    control: 'none',
  }),
  attack(275, 'exports ten thousand tools', `
    return 'never loaded'
  `, [['open', refused('ExportsMismatch')]], {
    files: {
      'index.js': `
        const tools = { run: { execute() {} } }
        for (let at = 0; at < 10_000; at++) tools['tool' + at] = tools.run
        export default { tools }
      `,
    },
    control: 'none', limits: { heapMb: 64 },
  }),
  attack(276, 'exports a tool name of a megabyte with terminal control sequences', `
    return 'never loaded'
  `, [['open', refused('ExportsMismatch')]], {
    files: {
      'index.js': `
        const run = { execute() {} }
        export default { tools: { run, ['\\u001b[2J'.repeat(250_000)]: run } }
      `,
    },
    control: 'none',
  }),
  attack(314, 'replaces members of builtins that native code relies on', `
    const { default: types } = await import('node:util/types')
    const { default: buffer } = await import('node:buffer')
    return {
      types: await attempt(() => {
        for (const name of Object.keys(types)) if (!/Key/.test(name)) types[name] = () => !/Float/.test(name)
      }),
      buffer: await attempt(() => { buffer.Buffer = class {} }),
      random: await attempt(() => crypto.getRandomValues({ byteLength: 9, byteOffset: 0, length: 9, buffer: {} })),
    }
  `, { types: 'TypeError', buffer: 'TypeError', random: 'TypeMismatchError' }),
  attack(315, 'calls accessors of URLPattern on another object, which aborts the process', `
    const { default: url } = await import('node:url')
    return {
      global: await attempt(() => use(globalThis, 'URLPattern') && 'there'),
      module: await attempt(() => use(url, 'URLPattern') && 'there'),
    }
  `, { global: 'absent', module: 'absent' }),
  attack(316, 'uses WebAssembly streaming, for which Node loads its network code', `
    const streaming = (name) => attempt(async () => {
      await use(WebAssembly, name)(Promise.resolve({})).catch(() => undefined)
      return 'there'
    })
    return { compile: await streaming('compileStreaming'), instantiate: await streaming('instantiateStreaming') }
  `, { compile: 'absent', instantiate: 'absent' }),
  attack(317, 'reads variables of the boot script', `
    const names = ['getBuiltinModule', 'constants', 'Script', 'parentPort', 'workerData', 'own', 'run', 'thread',
      'require',
      'module', 'exports', '__filename', '__dirname', 'boot', 'options', 'worker', 'die', 'report', 'm0', 'm1', 'm9',
      'm30']
    const here = names.filter((name) => globalThis.eval('typeof ' + name) !== 'undefined')
    const inFunction = names.filter((name) => Function('return typeof ' + name)() !== 'undefined')
    return { names: here.length + inFunction.length > 0 ? { got: [...here, ...inFunction] } : 'none' }
  `, { names: 'none' }, { control: 'none' }),
  attack(318, 'reads the call sites of the calling code', `
    const { getCallSites } = await import('node:util')
    const mapped = globalThis.eval('(call) => call()\\n//# sourceMappingURL=file:///etc/passwd')
    const sites = [...getCallSites(200), ...mapped(() => getCallSites(200, { sourceMap: true }))]
    const files = sites.map(({ scriptName }) => scriptName).filter((name) => /^(file:|\\/)/.test(name))
    return { files: files.length > 0 ? { got: files } : 'none' }
  `, { files: 'none' }, { control: 'none' }),
]
