import { attacksOf } from '../model/case.ts'

const attack = attacksOf('E')

const sqlite = (work: string): string => `
  return { sqlite: await attempt(async () => {
    const { DatabaseSync, backup } = await reach('sqlite')
    const store = facts.outside + '/store.sqlite'
    ${work}
  }) }
`
const DENIED = { sqlite: 'BuiltinDenied' }

export const storage = [
  attack(49, 'opens a database', sqlite(
    "return new DatabaseSync(store).prepare('SELECT text FROM canary').get().text",
  ),
    DENIED),
  attack(50, 'attaches a database', sqlite(`
    const memory = new DatabaseSync(':memory:')
    memory.exec("ATTACH '" + store + "' AS other")
    return memory.prepare('SELECT text FROM other.canary').get().text
  `), DENIED),
  attack(51, 'writes a database with VACUUM INTO', sqlite(`
    const memory = new DatabaseSync(':memory:')
    memory.exec("CREATE TABLE t (x); VACUUM INTO '" + facts.outside + "/made.sqlite'")
    return 'written'
  `), DENIED),
  attack(52, 'writes a database with a backup',
    sqlite("return backup(new DatabaseSync(':memory:'), facts.outside + '/made.sqlite')"), DENIED),
  attack(53, 'uses web storage', `
    return {
      local: await attempt(() => { use(globalThis, 'localStorage').setItem('a', 'b'); return 'kept' }),
      session: await attempt(() => { use(globalThis, 'sessionStorage').setItem('a', 'b'); return 'kept' }),
      caches: await attempt(() => use(globalThis, 'caches') && 'there'),
      indexed: await attempt(() => use(globalThis, 'indexedDB') && 'there'),
    }
  `, { local: 'absent', session: 'absent', caches: 'absent', indexed: 'absent' }),
  attack(54, 'sets the folder of the compile cache', `
    return {
      enable: await attempt(async () => {
        const { enableCompileCache, constants } = await reach('module')
        const { status } = enableCompileCache(facts.outside + '/cache')
        if (status !== constants.compileCacheStatus.ENABLED) throw { code: 'not enabled' }
        return status
      }),
      script: await attempt(async () =>
        new (await reach('vm')).Script('1', { produceCachedData: true }).cachedData.length),
    }
  `, { enable: 'BuiltinDenied', script: 'BuiltinDenied' }),
  attack(55, 'writes reports, snapshots and traces', `
    const v8 = await library('v8')
    return {
      report: await attempt(() => use(use(process, 'report'), 'writeReport')(facts.outside + '/made.json')),
      heap: await attempt(() => v8.writeHeapSnapshot(facts.outside + '/made.heapsnapshot')),
      near: await attempt(() => v8.setHeapSnapshotNearHeapLimit(1)),
      coverage: await attempt(() => v8.takeCoverage()),
      trace: await attempt(async () => {
        const tracing = (await reach('trace_events')).createTracing({ categories: ['node'] })
        tracing.enable()
        return tracing.enabled
      }),
    }
  `, {
    report: 'absent', heap: 'BuiltinDenied', near: 'BuiltinDenied', coverage: 'BuiltinDenied', trace: 'BuiltinDenied',
  }),
  attack(320, 'uses an in-memory database to run code and read bytes', `
    const memory = async () => new (await reach('sqlite')).DatabaseSync(':memory:', { allowExtension: true })
    return {
      code: await attempt(async () => { (await memory()).function('f', () => 1); return 'defined' }),
      extension: await attempt(async () => (await memory()).loadExtension(facts.outside + '/x.so')),
      bytes: await attempt(async () => (await memory()).serialize().length),
    }
  `, { code: 'BuiltinDenied', extension: 'BuiltinDenied', bytes: 'BuiltinDenied' }),
]
