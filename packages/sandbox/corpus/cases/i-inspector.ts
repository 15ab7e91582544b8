import { attacksOf } from '../model/case.ts'

const attack = attacksOf('I')

const by = (module: string, work: string): string => `
  return { ambient: await attempt(async () => {
    const module = await reach('${module}')
    ${work}
  }) }
`
const DENIED = { ambient: 'BuiltinDenied' }

export const inspector = [
  attack(101, 'opens the inspector', by('inspector',
    'module.open(0); const url = module.url(); module.close(); return url'), DENIED),
  attack(102, 'opens an inspector session with its own thread', by('inspector', `
    const session = new module.Session()
    session.connect()
    return new Promise((resolve, reject) => session.post('Runtime.evaluate', { expression: '1 + 1' },
      (error, answer) => error ? reject(error) : resolve(answer.result.value)))
  `), DENIED),
  attack(103, 'opens an inspector session with the main thread', by('inspector', `
    const session = new module.Session()
    session.connectToMainThread()
    return new Promise((resolve, reject) => session.post('Runtime.evaluate',
      { expression: 'globalThis.corpusOwned = process.env.CANARY' },
      (error, answer) => error ? reject(error) : resolve(answer.result.value)))
  `), DENIED),
  attack(104, 'opens an inspector session with the promise API', by('inspector/promises', `
    const session = new module.Session()
    session.connect()
    return (await session.post('Runtime.evaluate', { expression: 'typeof process.kill' })).result.value
  `), DENIED),
  attack(105, 'calls V8 natives that end the process', by('v8', `
    module.setFlagsFromString('--allow-natives-syntax')
    return Function('%SystemBreak()')()
  `), DENIED),
  attack(106, 'sets a stack limit larger than the stack', by('v8', `
    module.setFlagsFromString('--stack-size=65500')
    const { Script } = await reach('vm')
    new Script('(function deeper(depth) { return depth > 0 ? deeper(depth - 1) + 1 : 0 })(5e6)').runInThisContext()
    return 'deep'
  `), DENIED, { control: 'inert' }),
  attack(107, 'takes a heap snapshot', by('v8', `
    let bytes = 0
    for await (const piece of module.getHeapSnapshot()) { bytes += piece.length; if (bytes > 1e5) break }
    return bytes
  `), DENIED),
  attack(108, 'searches the heap with V8 queryObjects',
    by('v8', 'return module.queryObjects(EventTarget, { format: "count" })'), DENIED),
  attack(109, 'creates another V8 context', `
    const vm = await library('vm')
    return {
      context: await attempt(() => vm.runInNewContext('this.constructor.constructor("return typeof process")()')),
      here: await attempt(() => vm.runInThisContext('typeof process.kill')),
      compile: await attempt(() => vm.compileFunction('return 1')()),
      module: await attempt(() => use(vm, 'SourceTextModule') && 'there'),
      realm: await attempt(() => use(globalThis, 'ShadowRealm') && 'there'),
    }
  `, {
    context: 'BuiltinDenied', here: 'BuiltinDenied', compile: 'BuiltinDenied', module: 'BuiltinDenied', realm: 'absent',
  }),
  attack(110, 'takes a startup snapshot',
    by('v8', 'module.startupSnapshot.addSerializeCallback(() => {}); return "added"'),
    DENIED, { control: 'inert' }),
  attack(267, 'reaches the engine by other ways', `
    return {
      profile: await attempt(async () => typeof (await reach('v8')).startCpuProfile),
      serialize: await attempt(async () => (await reach('v8')).serialize({ a: 1 }).length),
      hooks: await attempt(async () => {
        let seen = 0
        ;(await reach('async_hooks')).createHook({ init: () => { seen++ } }).enable()
        await new Promise((later) => setTimeout(later, 1))
        return other(seen, 0)
      }),
      channels: await attempt(async () => {
        let seen = 0
        const { subscribe } = await reach('diagnostics_channel')
        for (const event of ['start', 'asyncEnd']) subscribe('tracing:module.import:' + event, () => { seen++ })
        await import('node:util')
        return other(seen, 0)
      }),
      repl: await attempt(async () => typeof (await reach('repl')).start),
      test: await attempt(async () => typeof (await reach('test')).mock),
      sea: await attempt(async () => (await reach('sea')).isSea()),
      gc: await attempt(() => use(globalThis, 'gc') && 'there'),
      natives: await attempt(() => Function('return %DebugPrint(1)')()),
    }
  `, {
    profile: 'BuiltinDenied', serialize: 'BuiltinDenied', hooks: 'constant', channels: 'constant',
    repl: 'BuiltinDenied',
    test: 'BuiltinDenied', sea: 'BuiltinDenied', gc: 'absent', natives: 'SyntaxError',
  }),
]
