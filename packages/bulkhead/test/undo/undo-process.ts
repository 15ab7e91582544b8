import { createHost, openSqliteStore } from '../../src/index.ts'

/**
 * Undoes a session, and kills itself when it records a change: `node undo-process.ts WORKSPACE HOME CACHE SESSION POINT`. An
 * even point is before the record is stored, an odd one after it. A point beyond the last change kills nothing.
 */
const [workspace = '', home = '', cache = '', continues = '', point = ''] = process.argv.slice(2)
const inner = await openSqliteStore({ file: `${home}/bulkhead.db` })
const { changes } = inner
let recorded = 0
const dieAt = (at: number): void => {
  if (at === Number(point)) process.kill(process.pid, 'SIGKILL')
}
const store = Object.assign(Object.create(inner) as typeof inner, {
  changes: {
    async add(...given: Parameters<NonNullable<typeof changes>['add']>) {
      dieAt(2 * recorded)
      const id = await changes!.add(...given)
      dieAt(2 * recorded++ + 1)
      return id
    },
    list: changes!.list.bind(changes), content: changes!.content.bind(changes),
  },
})
const bound = new Proxy(store, {
  get: (target, name) => {
    if (name === 'changes') return target.changes
    const value: unknown = Reflect.get(inner, name)
    return typeof value === 'function' ? value.bind(inner) as unknown : value
  },
})
const host = await createHost({ workspace, home, cache, trust: 'declined', store: bound })
const session = await host.openSession({ mode: 'yolo', continues })
const outcome = await session.call({ id: 'undo', name: 'undo', arguments: { session: true } })
process.stdout.write(outcome.type === 'output' ? 'undone' : outcome.error_text)
await host.close()
