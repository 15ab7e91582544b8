import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createHost, openSqliteStore, type CreateHostOptions, type Host } from '../src/index.ts'
import { CACHE } from './cache.ts'
import { inside } from './command-inside.ts'

let folder: string
let hosts: Host[]
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-required-')))
  hosts = []
  mkdirSync(join(folder, 'home/.bulkhead'), { recursive: true })
})
afterEach(async () => {
  await Promise.all(hosts.map((host) => host.close()))
  rmSync(folder, { recursive: true })
})

const file = () => join(folder, 'home/.bulkhead/bulkhead.db')
const written = () => existsSync(join(folder, 'out.txt'))
const configure = (text: string, root = join(folder, 'home/.bulkhead')) => {
  mkdirSync(root, { recursive: true })
  writeFileSync(join(root, 'config.json'), text)
}
const REQUIRED = '{"audit":{"require":true}}'
/** Makes the database refuse audit records, and nothing else. */
function jam(): Disposable {
  const database = new DatabaseSync(file())
  database.exec("CREATE TRIGGER jammed BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'no room'); END")
  return { [Symbol.dispose]: () => (database.exec('DROP TRIGGER jammed'), database.close()) }
}
const open = async (options: Partial<CreateHostOptions> = {}) => {
  const host = await createHost({
    workspace: folder, home: join(folder, 'home/.bulkhead'), cache: CACHE,
    store: await openSqliteStore({ file: file() }), ...options,
  })
  hosts.push(host)
  return host
}
const WRITE = { id: 'c', name: 'write', arguments: { path: 'out.txt', content: 'x' } }
const write = async (host: Host) => {
  const session = await host.openSession({ mode: 'yolo' })
  const outcome = await session.call(WRITE)
  const { decision, code } = await session.explain(WRITE)
  await session.close()
  return [outcome.type === 'output' ? 'ran' : outcome.error.code, code ?? decision]
}

describe('with a required audit', () => {
  it('a call is refused while its record cannot be written, and explain agrees', async () => {
    configure(REQUIRED)
    const host = await open()
    {
      using _ = jam()
      expect(await write(host)).toEqual(['StoreUnavailable', 'StoreUnavailable'])
      expect(written()).toBe(false)
    }
    expect(await write(host)).toEqual(['ran', 'allow'])
    expect(written()).toBe(true)
  })

  it('the record of the decision is written before the tool runs', async () => {
    configure(REQUIRED)
    const host = await open()
    const session = await host.openSession({ mode: 'yolo' })
    const started = Promise.withResolvers<readonly string[]>()
    host.on((event) => {
      if (event.type !== 'ToolInvocationStarted') return
      using database = new DatabaseSync(file(), { readOnly: true })
      started.resolve(database.prepare('SELECT * FROM audit').all().map((row) => JSON.stringify(row)))
    }, ['ToolInvocationStarted'])
    await session.call(WRITE)
    expect((await started.promise).join('\n')).toContain('ToolInvocationDecided')
  })

  it('neither the project nor `enabled: false` disables it, and an unreadable value enables it', async () => {
    for (const [user, project] of [
      [REQUIRED, '{"audit":{"require":false,"enabled":false}}'], ['{"audit":{"require":true,"enabled":false}}', '{}'],
      ['{"audit":{"require":"yes"}}', '{}'],
    ]) {
      configure(user!)
      configure(project!, join(folder, '.bulkhead'))
      const host = await open({ trust: 'once' })
      using _ = jam()
      expect((await write(host))[0], user).toBe('StoreUnavailable')
      await host.close()
    }
    expect(written()).toBe(false)
  })

  it('a store in memory is refused', async () => {
    configure(REQUIRED)
    const host = await createHost({ workspace: folder, home: join(folder, 'home/.bulkhead') })
    hosts.push(host)
    expect(await write(host)).toEqual(['StoreUnavailable', 'StoreUnavailable'])
    expect(
      (
        await inside(
          ['call', 'write', '--args', JSON.stringify(WRITE.arguments), '--mode', 'yolo', '--no-store'], folder,
        )
      ).stderr,
    ).toMatch(/^StoreUnavailable .*audit\.require/)
    expect(written()).toBe(false)
  })

  it('the command refuses calls', async () => {
    configure(REQUIRED)
    const args = [
      'call', 'write', '--args', JSON.stringify(WRITE.arguments), '--mode', 'yolo', '--home',
      join(folder, 'home/.bulkhead'),
    ]
    await (await open()).close()
    using _ = jam()
    const { code, stderr } = await inside(args, folder)
    expect([code, written()]).toEqual([1, false])
    expect(stderr).toMatch(/StoreUnavailable .*audit\.require.*no room/s)
  })
})

it('without a required audit, a call continues and the loss is reported', async () => {
  const host = await open()
  using _ = jam()
  expect(await write(host)).toEqual(['ran', 'allow'])
})
