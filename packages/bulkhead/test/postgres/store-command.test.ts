import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { newSchema, sharedPostgres } from '../../../../scripts/postgres/server.ts'
import { createHost, openSqliteStore } from '../../src/index.ts'
import { CACHE } from '../cache.ts'
import { inside } from '../command-inside.ts'

let folder: string
beforeEach(() => { folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-store-'))) })
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const home = () => join(folder, 'home/.bulkhead')
const newUrl = async () => (await sharedPostgres()).url(newSchema())
const json = async (args: readonly string[], env = {}) =>
  JSON.parse((await inside([...args, '--json'], folder, env)).stdout) as Record<string, unknown>

/** Works for a while: an approval, a change of a file, and the audit of both. */
async function work(store: string | Awaited<ReturnType<typeof openSqliteStore>>, name = 'a.txt'): Promise<void> {
  mkdirSync(home(), { recursive: true })
  const config = { approvals: { project: true }, audit: { enabled: true } }
  const host = await createHost({
    workspace: folder, home: home(), cache: CACHE, store, trust: 'declined', env: {}, config,
  })
  const session = await host.openSession({ approver: { approve: async () => ({ decision: 'project', by: 'Ada' }) } })
  const outcome = await session.call({ id: name, name: 'write', arguments: { path: name, content: 'x' } })
  expect(outcome).toMatchObject({ type: 'output' })
  await host.close()
}

describe('bulkhead store', needs('PostgreSQL'), () => {
  it('shows the server that a variable or the configuration names, without the password', async () => {
    const { password } = await sharedPostgres()
    const url = await newUrl()
    expect(await json(['store', 'status'], { BULKHEAD_STORE: url })).toMatchObject({
      kind: 'postgres', tables: 0, state: 'needs: bulkhead store migrate',
      store: expect.not.stringContaining(password) as unknown,
    })
    expect(await json(['store', 'migrate'], { BULKHEAD_STORE: url })).toEqual({ from: 0, to: 5 })
    mkdirSync(home(), { recursive: true })
    writeFileSync(join(folder, 'password'), password)
    const kept = url.replace(`:${password}`, '').concat(`&passwordfile=${join(folder, 'password')}`)
    writeFileSync(join(home(), 'config.json'), JSON.stringify({ store: { url: kept } }))
    expect(await json(['store', 'status'])).toMatchObject({ kind: 'postgres', state: 'ready', tables: 5 })
    const { stdout } = await inside(['doctor'], folder)
    expect(stdout)
      .toMatch(/store +postgres:\/\/postgres@127\.0\.0\.1:\d+\/postgres\S* answers; PostgreSQL \d+.*version 5/)
    expect(existsSync(join(home(), 'bulkhead.db'))).toBe(false)
  })

  it('no command prints a password, whatever is wrong', async () => {
    const { port } = await sharedPostgres()
    const urls = [
      `postgres://postgres:Tr0ub4dor@127.0.0.1:${port}/postgres`,
      'postgres://postgres:Tr0ub4dor@[/x', 'mysql://postgres:Tr0ub4dor@127.0.0.1/x',
      `postgres://postgres:Tr0ub4dor@127.0.0.1:${port}/postgres?sslmode=require`,
      'postgres://postgres:12/Tr0ub4dor@127.0.0.1/x',
    ]
    const unnamed = ['audit', 'verify', '--store', 'postgres:postgres:Tr0ub4dor@127.0.0.1/x']
    expect((await inside(unnamed, folder)).stderr).toMatch(/^ConfigInvalid The URL of the store must begin with/)
    const unreachable = { BULKHEAD_STORE: 'postgres://postgres:Tr0ub4dor@127.0.0.1:1/x' }
    expect((await inside(['doctor'], folder, unreachable)).stdout)
      .toMatch(/postgres@127\.0\.0\.1:1\/x cannot be reached/)
    for (const url of urls) {
      for (const command of [['store', 'status'], ['doctor'], ['audit', 'verify'], ['ps', '--json']]) {
        const { code, stdout, stderr } = await inside(command, folder, { BULKHEAD_STORE: url })
        expect([code, `${stdout}${stderr}`]).toEqual([1, expect.not.stringMatching('Tr0ub4dor')])
      }
    }
  })

  it('copies a file to PostgreSQL and back, with its audit, approvals and changes', async () => {
    const file = join(home(), 'bulkhead.db')
    mkdirSync(home(), { recursive: true })
    await work(await openSqliteStore({ file }))
    const url = await newUrl()
    const copied = await json(['store', 'copy', file, url])
    expect(copied).toMatchObject({ changes: 1, records: expect.any(Number) as unknown })
    const verdict = await json(['audit', 'verify'])
    expect(await json(['audit', 'verify'], { BULKHEAD_STORE: url })).toEqual(verdict)
    const approvals = ['approvals', 'list', '--all']
    expect(await json(approvals, { BULKHEAD_STORE: url })).toEqual(await json(approvals))
    const again = await inside(['store', 'copy', file, url], folder)
    expect([again.code, again.stderr]).toEqual([1, expect.stringMatching(/not empty/)])

    const nothing = await inside(['store', 'copy', await newUrl(), join(folder, 'none.db')], folder)
    expect([nothing.code, nothing.stderr]).toEqual([1, expect.stringMatching(/has no tables/)])
    expect(existsSync(join(folder, 'none.db'))).toBe(false)

    await work(url, 'b.txt')
    const back = join(folder, 'back.db')
    const returned = await json(['store', 'copy', url, back])
    expect(returned).toMatchObject({ changes: 2 })
    expect(returned['audit']).toBeGreaterThan(copied['audit'] as number)
    const undone = await json(['undo', 'b.txt'], { BULKHEAD_STORE: url })
    expect(undone).toMatchObject({ type: 'output', data: { applied: true } })
    expect(existsSync(join(folder, 'b.txt'))).toBe(false)
  })

  it('a project cannot choose the store', async () => {
    mkdirSync(join(folder, '.bulkhead'), { recursive: true })
    writeFileSync(join(folder, '.bulkhead/config.json'), JSON.stringify({ store: { url: 'postgres://other.test/x' } }))
    const host = await createHost({ workspace: folder, home: home(), cache: CACHE, trust: 'trusted', env: {} })
    await using _ = { [Symbol.asyncDispose]: async () => void await host.close() }
    expect(host.diagnostics).toContainEqual(expect.objectContaining({
      path: '/store', code: 'ConfigInvalid', message: expect.stringMatching(/project cannot choose/) as unknown,
    }))
  })
})

describe('bulkhead store pool', needs('PostgreSQL'), () => {
  it('makes logins of workers and of maintenance, with their passwords in files', async () => {
    const env = { BULKHEAD_STORE: await newUrl() }
    const added = await json(['store', 'pool', 'add', 'gpu', '--labels', 'gpu,region=eu', '--workspaces', 'shop'], env)
    expect(added).toMatchObject({ name: 'gpu', passwordFile: join(home(), 'pools/gpu') })
    const cleaner = await json(['store', 'pool', 'add', 'cleaner', '--maintains'], env)
    expect((await inside(['store', 'pool', 'list'], folder, env)).stdout)
      .toMatch(/cleaner .* maintenance\ngpu .* gpu, region=eu, workspace shop\n/)
    expect(await json(['store', 'maintain', '--store', String(cleaner['url'])])).toEqual({ maintained: true })
    expect((await inside(['store', 'maintain', '--store', String(added['url'])], folder)).code).toBe(1)
    expect((await inside(['store', 'pool', 'add', 'x'], folder, env)).code).toBe(2)
    expect((await inside(['store', 'pool', 'list'], folder)).stderr).toMatch(/The store is a file/)
    for (const name of ['gpu', 'cleaner']) {
      expect(await json(['store', 'pool', 'remove', name], env)).toEqual({ removed: name })
    }
    expect(existsSync(join(home(), 'pools/gpu'))).toBe(false)
  })
})

describe('hosts that share a server', needs('PostgreSQL'), () => {
  it('have an audit each, and one command verifies and shows all', async () => {
    const url = await newUrl()
    await work(`${url}&name=web-1`)
    await work(`${url}&name=web-2`, 'b.txt')
    const env = { BULKHEAD_STORE: url }
    expect(await json(['audit', 'verify'], env)).toMatchObject({
      ok: true, hosts: [{ host: 'web-1', ok: true }, { host: 'web-2', ok: true }],
    })
    const calls = (await inside(['audit', 'tail', '--tool', 'write'], folder, env)).stdout
    expect(calls).toMatch(/ web-1 +\S+ +write +a\.txt +ok [^]* web-2 +\S+ +write +b\.txt +ok /)
    expect((await inside(['audit', 'tail', '--tool', 'write', '--store', url], folder)).stdout).toBe(calls)
    const exported = await inside(['audit', 'export', '--host', 'web-2'], folder, env)
    expect([exported.code, exported.stdout]).toEqual([0, expect.stringContaining('b.txt')])
    expect(await inside(['audit', 'export'], folder, env)).toMatchObject({
      code: 2, stderr: expect.stringMatching(/--host: web-1, web-2/) as unknown,
    })
  })

  it('see approvals of each other at once', async () => {
    const store = await newUrl()
    await work(store)
    const host = await createHost({
      workspace: folder, home: home(), cache: CACHE, store, trust: 'declined', env: {},
      config: { approvals: { project: true } },
    })
    const asked: string[] = []
    const session = await host.openSession({
      approver: { approve: async ({ approvalKey }) => { asked.push(approvalKey); return { decision: 'reject' } } },
    })
    const call = (id: string) => session.call({ id, name: 'write', arguments: { path: 'a.txt', content: id } })
    expect(await call('one')).toMatchObject({ type: 'output' })
    expect(asked).toEqual([])
    expect((await inside(['approvals', 'revoke', '--all'], folder, { BULKHEAD_STORE: store })).code).toBe(0)
    expect(await call('two')).toMatchObject({ type: 'error' })
    expect(asked).toHaveLength(1)
    await host.close()
  })
})
