import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { LONG } from '../../../scripts/thoroughly.ts'
import { createHost, openSqliteStore, type Approval } from '../src/index.ts'
import { CACHE } from './cache.ts'
import { inside } from './command-inside.ts'
import { joined } from './joined.ts'

let folder: string
beforeEach(() => { folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-approvals-'))) })
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const home = () => join(folder, 'home/.bulkhead')
const writing = (path: string) => ['write', '--args', JSON.stringify({ path, content: 'x' })]

/** Approves each for the project. */
async function approve(workspace: string, ...paths: readonly string[]): Promise<void> {
  mkdirSync(workspace, { recursive: true })
  mkdirSync(home(), { recursive: true })
  writeFileSync(join(home(), 'config.json'), JSON.stringify({ approvals: { project: true } }))
  const store = await openSqliteStore({ file: join(home(), 'bulkhead.db') })
  const host = await createHost({ workspace, home: home(), cache: CACHE, store, trust: 'declined', env: {} })
  const session = await host.openSession({
    approver: { approve: async () => ({ decision: 'project', by: 'Ada\u001b[2J' }) },
  })
  for (const path of paths) await session.call({ id: path, name: 'write', arguments: { path, content: 'x' } })
  await host.close()
}

const listed = async (args: readonly string[] = []): Promise<readonly Approval[]> =>
  JSON.parse((await inside(['approvals', 'list', '--json', ...args], folder)).stdout) as Approval[]

it('lists approvals by project and tool, as a table and as JSON', LONG, async () => {
  await approve(folder, 'src/a.txt', 'docs/a.txt')
  await approve(join(folder, 'other'), 'lib/a.txt')
  const { code, stdout } = await inside(['approvals', 'list'], folder)
  expect(code).toBe(0)
  expect(stdout).toMatch(/^ID +STATUS +TOOL +EXTENSION +GIVEN +BY +EXPIRES +USES +LAST USED +KEY\n/)
  expect(stdout).toMatch(joined(
    /^[0-9a-f]{12} +standing +write +bundled write@1\.0\.0 +\d{4}-\d\d-\d\d \d\d:\d\dZ +Ada\\u\{1b\}\[2J +\S+ /,
    /\S+ +0 +- +docs\/a\.txt$/m,
  ))
  expect((await listed()).map(({ approvalKey }) => approvalKey).toSorted()).toEqual(['docs/a.txt', 'src/a.txt'])
  expect(await listed(['--project', 'other'])).toMatchObject([
    { approvalKey: 'lib/a.txt', workspace: join(folder, 'other') },
  ])
  expect(await listed(['--all'])).toHaveLength(3)
  expect(await listed(['--tool', 'edit'])).toEqual([])
  const shown = await inside(
    ['approvals', 'show', (await listed()).find(({ approvalKey }) => approvalKey === 'src/a.txt')!.id], folder,
  )
  expect(shown.stdout).toMatch(/^key +src\/a\.txt$/m)
  expect(shown.stdout).toMatch(/^covers +this file \(src\/a\.txt\)$/m)
  expect(shown.stdout).toMatch(/^ {2}package +[0-9a-f]{64,}$/m)
})

it('revokes the approvals of one project, or all', LONG, async () => {
  await approve(folder, 'src/a.txt', 'docs/a.txt')
  await approve(join(folder, 'other'), 'lib/a.txt')
  expect((await inside(['approvals', 'revoke', '--all', '--project', 'other'], folder)).code).toBe(0)
  expect(await listed(['--all'])).toHaveLength(2)
  expect(await listed(['--all', '--ended'])).toHaveLength(3)
  expect((await inside(['approvals', 'revoke', '--all'], folder)).stdout).toMatch(/^Revoked:\n/)
  expect((await inside(['approvals', 'list'], folder)).stdout).toBe('No approvals.\n')
  expect(await inside(['approvals', 'revoke', '--tool', 'write'], folder)).toMatchObject({
    code: 0, stdout: 'Nothing to revoke.\n',
  })
})

/** `value`: an SQL expression for the damaged value. */
function damage(id: string, value: string): void {
  using database = new DatabaseSync(join(home(), 'bulkhead.db'))
  database.exec(`UPDATE entry SET value = ${value} WHERE key LIKE '%/${id}'`)
}

it('a damaged approval is ignored and reported, does not hide others, and is removed by revoke', async () => {
  await approve(folder, 'src/a.txt', 'docs/a.txt', 'lib/a.txt', 'bin/a.txt')
  const ids = new Map((await listed()).map(({ approvalKey, id }) => [approvalKey.replace('/a.txt', ''), id]))
  damage(ids.get('src')!, 'substr(value, 1, 40)')
  damage(ids.get('docs')!, "json_remove(value, '$.grantedBy')")
  damage(ids.get('lib')!, "json_set(value, '$.approvalKey', '.')")
  const { code, stdout, stderr } = await inside(['approvals', 'list', '--json'], folder)
  expect([code, (JSON.parse(stdout) as Approval[]).map(({ approvalKey }) => approvalKey)]).toEqual([0, ['bin/a.txt']])
  for (const key of ['src', 'docs', 'lib'])
    expect(stderr).toContain(`Approval ${ids.get(key)!} is damaged and is ignored: it is not `)
  expect((await inside(['call', ...writing('bin/a.txt')], folder)).code).toBe(0)
  for (const key of ['src', 'docs', 'lib'])
    expect((await inside(['call', ...writing(`${key}/a.txt`)], folder)).stderr).toContain('ApprovalDenied')
  expect(await inside(['approvals', 'show', ids.get('src')!], folder)).toMatchObject({
    code: 1, stderr: expect.stringContaining(`To remove it: bulkhead approvals revoke ${ids.get('src')!}.`),
  })

  expect(await inside(['approvals', 'revoke', ids.get('src')!.slice(0, 8)], folder)).toMatchObject({
    code: 0, stdout: '', stderr: expect.stringContaining('It was removed.'),
  })
  expect((await inside(['approvals', 'revoke', '--tool', 'edit'], folder)).stderr).toBe('')
  const all = await inside(['approvals', 'revoke', '--all'], folder)
  expect(all.stdout).toContain(ids.get('bin')!)
  expect(all.stderr.match(/It was removed\./g)).toHaveLength(2)
  expect(await inside(['approvals', 'list'], folder)).toMatchObject({ stdout: 'No approvals.\n', stderr: '' })
})

it.each([
  ['a missing action', ['approvals'], 2], ['an unknown action', ['approvals', 'forget'], 2],
  ['a missing id', ['approvals', 'show'], 2], ['revoke without a selection', ['approvals', 'revoke'], 2],
  ['two selections', ['approvals', 'revoke', 'abcd', '--all'], 2],
  ['an id that is too short', ['approvals', 'revoke', 'ab'], 2], ['an invalid id', ['approvals', 'revoke', '../x'], 2],
  ['contradicting options', ['approvals', 'list', '--all', '--project', '.'], 2],
  ['a missing store', ['approvals', 'list'], 1],
])('refuses %s', async (_, args, code) => {
  expect((await inside(args, folder)).code).toBe(code)
  expect(existsSync(home())).toBe(false)
})

it('an unknown id is reported as not found', async () => {
  await approve(folder, 'src/a.txt')
  const ran = await inside(['approvals', 'revoke', 'ffffffffffff', '--json'], folder)
  expect(ran.code).toBe(1)
  expect(JSON.parse(ran.stdout)).toMatchObject({ error: { code: 'NotFound' } })
})

it('without a terminal, the question of a tool fails with InteractionUnavailable', async () => {
  const { code, stdout } = await inside(
    ['call', 'question', '--args', '{"questions":[{"question":"Which?"}]}', '--json'], folder,
  )
  expect(code).toBe(1)
  expect(JSON.parse(stdout)).toMatchObject({
    error: { code: 'InteractionUnavailable' },
    error_text: expect.stringContaining(
      'No person can be asked here. Continue with your best guess, and say what you assumed.',
    ),
  })
})
