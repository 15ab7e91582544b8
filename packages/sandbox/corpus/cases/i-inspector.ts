import { attacksOf } from '../case.ts'

const attack = attacksOf('I')

const by = (module: string, work: string): string => `
  return { ambient: await attempt(async () => {
    const module = await reach('${module}')
    ${work}
  }) }
`
const DENIED = { ambient: 'BuiltinDenied' }

export const inspector = [
  attack(101, 'the inspector is opened', by('inspector',
    'module.open(0); const url = module.url(); module.close(); return url'), DENIED),
  attack(102, 'a session with the own thread', by('inspector', `
    const session = new module.Session()
    session.connect()
    return new Promise((resolve, reject) => session.post('Runtime.evaluate', { expression: '1 + 1' },
      (error, answer) => error ? reject(error) : resolve(answer.result.value)))
  `), DENIED),
  attack(103, 'a session with the thread of the host', by('inspector', `
    const session = new module.Session()
    session.connectToMainThread()
    return new Promise((resolve, reject) => session.post('Runtime.evaluate',
      { expression: 'globalThis.corpusOwned = process.env.CANARY' },
      (error, answer) => error ? reject(error) : resolve(answer.result.value)))
  `), DENIED),
  attack(104, 'the same by promises', by('inspector/promises', `
    const session = new module.Session()
    session.connect()
    return (await session.post('Runtime.evaluate', { expression: 'typeof process.kill' })).result.value
  `), DENIED),
  attack(105, 'functions inside V8 that end the process', by('v8', `
    module.setFlagsFromString('--allow-natives-syntax')
    return Function('%SystemBreak()')()
  `), DENIED),
  attack(106, 'the stack is made larger than it is', by('v8', `
    module.setFlagsFromString('--stack-size=65500')
    const { Script } = await reach('vm')
    new Script('(function deeper(depth) { return depth > 0 ? deeper(depth - 1) + 1 : 0 })(5e6)').runInThisContext()
    return 'deep'
  `), DENIED, { control: 'inert' }),
  attack(107, 'a picture of the heap', by('v8', `
    let bytes = 0
    for await (const piece of module.getHeapSnapshot()) { bytes += piece.length; if (bytes > 1e5) break }
    return bytes
  `), DENIED),
  attack(108, 'every object of a kind', by('v8', 'return module.queryObjects(EventTarget, { format: "count" })'), DENIED),
  attack(109, 'another context', `
    const vm = await library('vm')
    return {
      context: await attempt(() => vm.runInNewContext('this.constructor.constructor("return typeof process")()')),
      here: await attempt(() => vm.runInThisContext('typeof process.kill')),
      compile: await attempt(() => vm.compileFunction('return 1')()),
      module: await attempt(() => use(vm, 'SourceTextModule') && 'there'),
      realm: await attempt(() => use(globalThis, 'ShadowRealm') && 'there'),
    }
  `, { context: 'BuiltinDenied', here: 'BuiltinDenied', compile: 'BuiltinDenied', module: 'BuiltinDenied', realm: 'absent' }),
  attack(110, 'a snapshot of the start', by('v8', 'module.startupSnapshot.addSerializeCallback(() => {}); return "added"'),
    DENIED, { control: 'inert' }),
  attack(267, 'other windows into the engine', `
    return {
      profile: await attempt(async () => typeof (await reach('v8')).startCpuProfile),
      serialize: await attempt(async () => (await reach('v8')).serialize({ a: 1 }).length),
      hooks: await attempt(async () => typeof (await reach('async_hooks')).createHook),
      channels: await attempt(async () => typeof (await reach('diagnostics_channel')).channel),
      repl: await attempt(async () => typeof (await reach('repl')).start),
      test: await attempt(async () => typeof (await reach('test')).mock),
      sea: await attempt(async () => (await reach('sea')).isSea()),
      gc: await attempt(() => use(globalThis, 'gc') && 'there'),
      natives: await attempt(() => Function('return %DebugPrint(1)')()),
    }
  `, {
    profile: 'BuiltinDenied', serialize: 'BuiltinDenied', hooks: 'BuiltinDenied', channels: 'BuiltinDenied',
    repl: 'BuiltinDenied',
    test: 'BuiltinDenied', sea: 'BuiltinDenied', gc: 'absent', natives: 'SyntaxError',
  }),
]
