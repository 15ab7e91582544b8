import { attacksOf } from '../model/case.ts'

const attack = attacksOf('J')

/** Imports each of these, in order. */
const imports = (...specifiers: readonly string[]): string => `
  const outcomes = []
  for (const specifier of [${specifiers.join(', ')}]) {
    outcomes.push(await attempt(async () => 'readFileSync' in real(await import(specifier)) ? 'fs' : 'something'))
  }
  return { imports: outcomes }
`
const DENIED = 'BuiltinDenied'
const MISSING = 'ModuleNotFound'
/** The tools of the corpus declare `fs`. */
const SHIM = 'shim'

/** A WebAssembly module whose one import is `isContext` of `node:vm`. */
const WASM_IMPORTING_VM = Uint8Array.from([
  0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 1, 4, 1, 0x60, 0, 0, 2, 21, 1, 7, ...Buffer.from('node:vm'), 9,
  ...Buffer.from('isContext'), 0, 0,
])

export const modules = [
  attack(111, 'imports builtins with the node: scheme', imports("'node:fs'", "'node:fs/promises'", "'node:module'",
    "'node:nothing'",
    "'node:'"), {
    imports: [SHIM, SHIM, DENIED, DENIED, DENIED],
  }),
  attack(112, 'imports builtins without a scheme', imports(
    "'fs'", "'fs/promises'", "'module'", "'worker_threads'", "'sqlite'",
  ), {
    imports: [SHIM, SHIM, DENIED, DENIED, MISSING],
  }),
  attack(113, 'imports builtins in other letter case', imports(
    "'NODE:fs'", "'Node:FS'", "'FS'", "'\\u017fs'", "'\\uff4eode:fs'",
  ), {
    imports: [MISSING, MISSING, MISSING, MISSING, MISSING],
  }, { control: 'inert' }),
  attack(114, 'imports builtins with white space', imports("' node:fs'", "'node:fs '", "'no\\tde:fs'", "'node:\\nfs'",
    "'\\tfs'",
    "'fs '"), {
    imports: [MISSING, DENIED, MISSING, DENIED, MISSING, MISSING],
  }, { control: 'inert' }),
  attack(115, 'imports builtins with percent-encoded letters', imports(
    "'node:f%73'", "'node%3afs'", "'%6eode:fs'", "'n\\u200bode:fs'",
  ), {
    imports: [DENIED, MISSING, MISSING, MISSING],
  }, { control: 'inert' }),
  attack(116, 'imports builtins with a query', imports("'node:fs?x'", "'fs?x'", "'./attacker.js?x'"),
    { imports: [DENIED, MISSING, MISSING] }, { control: 'inert' }),
  attack(117, 'imports builtins with a fragment', imports("'node:fs#x'", "'fs#x'", "'./attacker.js#x'"),
    { imports: [DENIED, MISSING, MISSING] }, { control: 'inert' }),
  attack(118, 'imports a specifier that changes between two reads', `
    let reads = 0
    const flips = (first, then) => ({ toString() { return reads++ === 0 ? first : then },
      [Symbol.toPrimitive]() { return reads++ === 0 ? first : then } })
    const outcome = async (specifier) => {
      reads = 0
      return attempt(async () => typeof real(await import(specifier)).readFileSync === 'function'
        ? 'fs' : Promise.reject({ code: 'harmless' }))
    }
    return {
      object: await outcome(flips('./attacker.js', 'node:fs')),
      reverse: await outcome(flips('node:fs', './attacker.js')),
      text: await outcome(new String('node:fs')), list: await outcome(['node:fs']),
    }
  `, { object: 'harmless', reverse: SHIM, text: SHIM, list: SHIM }),
  attack(119, 'imports code from a data URL', imports("'data:text/javascript,export%20default%201'",
    "'data:text/javascript,import%22node:fs%22'", "'data:application/json,1'"), {
    imports: [MISSING, MISSING, MISSING],
  }),
  attack(120, 'imports code from a blob URL', `
    return {
      make: await attempt(() => URL.createObjectURL(new (use(globalThis, 'Blob'))(['export default 1']))),
      url: await attempt(() => use(URL, 'createObjectURL') && 'there'),
      load: await attempt(() => import('blob:nodedata:0')),
    }
  `, { make: 'absent', url: 'absent', load: MISSING }),
  attack(121, 'imports code from the network', imports("'https://127.0.0.1:' + facts.port + '/x.js'",
    "'http://127.0.0.1:' + facts.port + '/x.js'", "'//127.0.0.1/x.js'"), {
    imports: [MISSING, MISSING, MISSING],
  }, { control: 'inert' }),
  attack(122, 'imports code from a file', imports("'file:///etc/passwd'", "'file://' + facts.outside + '/secret.txt'",
    "facts.outside + '/x.js'", "'../x.js'", "'/etc/passwd'"), {
    imports: [MISSING, MISSING, MISSING, MISSING, MISSING],
  }),
  attack(123, 'resolves a module without loading it', `
    return {
      builtin: await attempt(() => {
        const url = import.meta.resolve('node:fs')
        if (url.startsWith('bulkhead:')) throw { code: 'shim' }
        return url
      }),
      file: await attempt(() => import.meta.resolve('file:///etc/passwd')),
      own: await attempt(() => {
        const url = import.meta.resolve('./attacker.js')
        if (url.startsWith('tool:')) throw { code: 'own file' }
        return url
      }),
      folder: await attempt(() => use(import.meta, 'dirname')), name: await attempt(() => use(import.meta, 'filename')),
    }
  `, { builtin: SHIM, file: MISSING, own: 'own file', folder: 'absent', name: 'absent' }),
  attack(124, 'gets builtins through process', `
    return {
      own: await attempt(() => typeof use(process, 'getBuiltinModule')('fs').readFileSync),
      prototype: await attempt(() => typeof use(Object.getPrototypeOf(process), 'getBuiltinModule')),
      descriptor: await attempt(() => use(Object.getOwnPropertyDescriptors(process), 'getBuiltinModule') && 'there'),
    }
  `, { own: 'absent', prototype: 'absent', descriptor: 'absent' }),
  attack(125, 'gets builtins through the main module', `
    return {
      main: await attempt(() => typeof use(use(process, 'mainModule'), 'require')('fs')),
      require: await attempt(() => use(globalThis, 'require') && 'there'), module: await attempt(() => module.id),
      exports: await attempt(() => exports.a),
      parent: await attempt(function () { return typeof arguments.callee.caller }),
    }
  `, {
    main: 'absent', require: 'absent', module: 'ReferenceError', exports: 'ReferenceError', parent: 'TypeError',
  }, { control: 'inert' }),
  attack(126, 'uses the CommonJS loader, from a CommonJS file', `
    return {
      cjs: await attempt(async () => (await import('./reach.cjs')).default),
      js: await attempt(async () => (await import('./reach.js')).default),
      meta: await attempt(() => typeof import.meta.constructor._load),
    }
  `, { cjs: MISSING, js: 'ReferenceError', meta: 'TypeError' }, {
    files: {
      'reach.cjs': "module.exports = typeof module.constructor._load('fs').readFileSync",
      'reach.js': "export default typeof module.constructor._load('fs').readFileSync",
    },
    control: 'inert',
  }),
  attack(127, 'calls createRequire with any path', `
    return { require: await attempt(async () => typeof (await reach('module')).createRequire('/')('fs').readFileSync) }
  `, { require: DENIED }),
  attack(128, 'changes the prototype of modules', `
    return { prototype: await attempt(async () => {
      const { require } = (await reach('module')).Module.prototype
      return typeof require.call({ id: '/', paths: [], filename: '/' }, 'fs')
    }) }
  `, { prototype: DENIED }),
  attack(129, 'changes the resolver', `
    return { poison: await attempt(async () => {
      const { Module, createRequire } = await reach('module')
      Module._resolveFilename = () => 'fs'
      return typeof createRequire('/')('./anything')
    }) }
  `, { poison: DENIED }),
  attack(130, 'registers module hooks that run before ours', `
    return { hooks: await attempt(async () => {
      const { registerHooks } = await reach('module')
      registerHooks({ resolve: () => ({ url: 'node:fs', shortCircuit: true }) })
      return typeof (await import('./anything')).readFileSync
    }) }
  `, { hooks: DENIED }),
  attack(131, 'registers module hooks in a separate thread', `
    return { register: await attempt(async () =>
      (await reach('module')).register('data:text/javascript,') ?? 'registered') }
  `, { register: DENIED }),
  attack(132, 'maps names to builtins and to files outside, in a package.json', `
    const outcomes = []
    for (const specifier of ['#fs', '#up', 'attacker', 'attacker/fs', './package.json/fs', '@bulkhead/sandbox',
      '@bulkhead/contract/../sandbox']) {
      outcomes.push(await attempt(() => import(specifier)))
    }
    return { map: outcomes, data: (await import('./package.json', { with: { type: 'json' } })).default.name }
  `, { map: [MISSING, MISSING, MISSING, MISSING, MISSING, MISSING, MISSING], data: 'attacker' }, {
    files: {
      'package.json': JSON.stringify({
        name: 'attacker', imports: { '#fs': 'node:fs', '#up': '../../outside.js' },
        exports: { '.': 'node:fs', './fs': '../fs.js' },
      }),
    },
    control: 'inert',
  }),
  attack(268, 'imports a module in evaluated code', `
    const indirect = globalThis.eval
    return {
      direct: await attempt(() => eval("import('node:vm')")),
      indirect: await attempt(() => indirect("import('node:vm')")),
      made: await attempt(() => Function("return import('node:vm')")()),
      later: await attempt(() => new Promise((resolve, reject) => {
        setTimeout(() => Function("return import('node:vm')")().then(resolve, reject))
      })),
      generator: await attempt(() => {
        const { constructor: AsyncGeneratorFunction } = Object.getPrototypeOf(async function* () {})
        return AsyncGeneratorFunction("yield import('node:vm')")().next()
      }),
      named: await attempt(() => indirect("import('node:vm')\\n//# sourceURL=node:internal/main/worker_thread")),
    }
  `, { direct: DENIED, indirect: DENIED, made: DENIED, later: DENIED, generator: DENIED, named: DENIED }),
  attack(269, 'compiles WebAssembly that imports a builtin', `
    return {
      module: await attempt(async () => (await import('./vm.wasm')) && 'linked'),
      compiled: await attempt(async () => {
        const bytes = new Uint8Array(${JSON.stringify([...WASM_IMPORTING_VM])})
        return (await WebAssembly.instantiate(bytes, {})) && 'linked'
      }),
    }
  `, { module: DENIED, compiled: 'TypeError' }, { files: { 'vm.wasm': WASM_IMPORTING_VM } }),
  attack(270, 'imports modules of the compartment itself and of other extensions', `
    const specifiers = ['compartment', './compartment', 'bulkhead:author', 'bulkhead:compartment',
      'bulkhead:0/lockdown.ts',
      'tool://neighbour/index.js', 'tool://attacker/../neighbour/index.js', 'tool://~warmup/index.js']
    const outcomes = new Set()
    for (const specifier of specifiers) outcomes.add(await attempt(() => import(specifier)))
    return { imports: [...outcomes], author: Object.keys(await import('@bulkhead/contract')).sort() }
  `, {
    imports: [MISSING], author: ['ToolError', 'declaredManifest', 'defineAgent', 'defineExtension', 'defineTool'],
  }, {
    control: 'inert',
  }),
  attack(321, 'uses members that newer versions add to the module system', `
    const module = await library('module')
    return {
      oracle: await attempt(() => module.findPackageJSON('./x', 'file://' + facts.outside + '/x.js') ?? 'nowhere'),
      maps: await attempt(() => module.setSourceMapsSupport(true)),
      types: await attempt(() => module.stripTypeScriptTypes('let a: number')),
      flush: await attempt(() => module.flushCompileCache()),
      sync: await attempt(() => module.syncBuiltinESMExports()),
    }
  `, {
    oracle: 'BuiltinDenied', maps: 'BuiltinDenied', types: 'BuiltinDenied', flush: 'BuiltinDenied',
    sync: 'BuiltinDenied',
  }),
  attack(322, 'imports files as text and as bytes, with attributes', `
    const secret = 'file://' + facts.outside + '/secret.txt'
    const as = (type) => attempt(async () => (await import(secret, { with: { type } })).default)
    const attribute = { get type() { return 'text' } }
    return {
      text: await as('text'), bytes: await as('bytes'), json: await as('json'), css: await as('css'),
      accessor: await attempt(async () => (await import(secret, { with: attribute })).default),
      place: await attempt(() => use(import.meta, 'filename') + use(import.meta, 'dirname')),
    }
  `, {
    text: 'ModuleNotFound', bytes: 'ModuleNotFound', json: 'ModuleNotFound', css: 'ModuleNotFound',
    accessor: 'ModuleNotFound',
    place: 'absent',
  }, { control: 'inert' }),
]
