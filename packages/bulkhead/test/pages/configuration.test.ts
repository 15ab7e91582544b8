import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { configFileSchema } from '@bulkhead/contract/validation'
import type { ConfigFile, Outcome } from '@bulkhead/contract'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { thoroughly } from '../../../../scripts/thoroughly.ts'
import { createHost, type Host, type Session } from '../../src/index.ts'
import { CACHE } from '../cache.ts'
import { BLOCKS, placeOf } from './blocks.ts'

let root: string
let workspace: string
let host: Host | undefined
/** Made once for the cases of a `describe`: they differ in the call, not in the configuration. */
const setUp = (): void => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-examples-')))
  workspace = join(root, 'workspace')
  for (const folder of ['src', 'secrets']) mkdirSync(join(workspace, folder), { recursive: true })
  writeFileSync(join(workspace, 'a.txt'), 'here\n')
  writeFileSync(join(workspace, 'secrets/key'), 'precious\n')
  symlinkSync('secrets', join(workspace, 'linked'))
  symlinkSync('../secrets/b', join(workspace, 'src/dangling'))
}
const tearDown = async (): Promise<void> => {
  await host?.close()
  rmSync(root, { recursive: true })
}

/** Every configuration that a page shows. */
const EXAMPLES = BLOCKS.filter(({ language, file }) => language.startsWith('json') && file === undefined).map((block) =>
  [placeOf(block), configFileSchema.parse(JSON.parse(block.text.replaceAll(/(^|\s)\/\/ .*$/gm, '$1')))] as const)
const OF_CONFIGURATION = EXAMPLES.find(([place]) => place.startsWith('docs/reference/configuration.md'))![1]

async function open(config: ConfigFile): Promise<Session> {
  const env = { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: join(root, 'home') }
  host = await createHost({ workspace, home: join(root, 'home'), env, config, cache: CACHE, discover: 'when-asked' })
  return host.openSession({ approver: { approve: async () => ({ decision: 'reject' }) } })
}
const codeOf = (outcome: Outcome): string => outcome.type === 'output' ? 'output' : outcome.error.code
const callIn = (session: Session) => async (name: string, args: object): Promise<string> =>
  codeOf(await session.call({ id: crypto.randomUUID(), name, arguments: args }))
/** Says what a call would return, without the processes that it starts. The examples below make such calls. */
const explainIn = (session: Session) => async (name: string, args: object): Promise<string> => {
  const { decision } = await session.explain({ id: crypto.randomUUID(), name, arguments: args as never })
  return decision === 'allow' ? 'output' : decision
}

it('the pages have at least five examples', () => {
  expect(EXAMPLES.length).toBeGreaterThanOrEqual(5)
})

describe('with the configuration of', () => {
  beforeEach(setUp)
  afterEach(tearDown)

  it.each(EXAMPLES)('%s, files of the workspace can be read', async (_, config) => {
    const session = await open(config)
    const call = thoroughly(explainIn, callIn)(session)
    expect(await call('bash', { command: 'ls && cat a.txt' })).toBe('output')
    expect(await call('grep', { pattern: 'here' })).toBe('output')
    expect(await callIn(session)('read', { path: 'a.txt' })).toBe('output')
  })
})

describe('with the example of docs/reference/configuration.md', () => {
  let session: Session
  beforeAll(async () => {
    setUp()
    session = await open(OF_CONFIGURATION)
  })
  afterAll(tearDown)

  it.each<[string, object, string]>([
    ['bash', { command: 'ls src' }, 'output'],
    ['bash', { command: 'ps aux' }, 'output'],
    ['bash', { command: 'cat secrets/key' }, 'output'],
    ['bash', { command: 'echo x > src/b' }, 'ApprovalDenied'],
    ['bash', { command: 'echo x > secrets/b' }, 'RuleDenied'],
    ['bash', { command: 'echo x > src/../secrets/b' }, 'RuleDenied'],
    ['bash', { command: 'echo x > linked/b' }, 'RuleDenied'],
    ['bash', { command: 'npm test' }, 'RuleDenied'],
    ['bash', { command: 'cp a.txt src/b' }, 'RuleDenied'],
    ['bash', { command: 'for i in 1; do touch $i; done' }, 'RuleDenied'],
    ['write', { path: 'src/b', content: 'x' }, 'output'],
    ['write', { path: 'src/deep/b', content: 'x' }, 'ApprovalDenied'],
    ['write', { path: 'secrets/b', content: 'x' }, 'RuleDenied'],
    ['write', { path: 'secrets/deep/b', content: 'x' }, 'RuleDenied'],
    ['write', { path: 'src/../secrets/b', content: 'x' }, 'RuleDenied'],
    ['write', { path: 'linked/b', content: 'x' }, 'RuleDenied'],
    ['write', { path: 'src/dangling', content: 'x' }, 'RuleDenied'],
    ['edit', { path: 'secrets/key', old_string: 'precious', new_string: 'x' }, 'RuleDenied'],
    ['edit', { path: 'a.txt', old_string: 'here', new_string: 'x' }, 'ApprovalDenied'],
  ])('%s %j: %s', async (name, args, code) => {
    const { decision } = await session.explain({ id: 'e', name, arguments: args as never })
    expect(await callIn(session)(name, args)).toBe(code)
    expect(existsSync(join(workspace, 'secrets/b'))).toBe(false)
    expect(decision).toBe(code === 'output' ? 'allow' : code === 'RuleDenied' ? 'deny' : 'ask')
  })
})

describe('with a rule that denies reading', () => {
  let session: Session
  beforeAll(async () => {
    setUp()
    session = await open({ rules: [{ permission: 'fs.read', pattern: 'secrets/**', action: 'deny' }] })
  })
  afterAll(tearDown)

  it.each<[string, object, string]>([
    ['bash', { command: 'cat a.txt' }, 'output'],
    ['bash', { command: 'ls' }, 'output'],
    ['bash', { command: 'ls | sort' }, 'output'],
    ['bash', { command: 'echo $HOME' }, 'RuleDenied'],
    ['bash', { command: 'cat secrets/key' }, 'RuleDenied'],
    ['bash', { command: 'cat < secrets/key' }, 'RuleDenied'],
    ['bash', { command: 'cat linked/key' }, 'RuleDenied'],
    ['bash', { command: 'cat */key' }, 'RuleDenied'],
    ['bash', { command: 'grep -rn precious .' }, 'RuleDenied'],
    ['bash', { command: 'ls -R' }, 'RuleDenied'],
    ['bash', { command: 'ls secrets' }, 'RuleDenied'],
    ['bash', { command: 'grep -d recurse precious' }, 'RuleDenied'],
    ['bash', { command: 'git grep precious' }, 'RuleDenied'],
    ['bash', { command: 'find . -exec grep precious {} +' }, 'RuleDenied'],
    ['bash', { command: 'ls | xargs grep -r precious' }, 'RuleDenied'],
    ['bash', { command: 'wc $(ls)' }, 'RuleDenied'],
    ['bash', { command: 'cd secrets && cat key' }, 'RuleDenied'],
    ['bash', { command: '(cd secrets && cat key)' }, 'RuleDenied'],
    ['read', { path: 'a.txt' }, 'output'],
    ['read', { path: 'secrets/key' }, 'RuleDenied'],
    ['read', { path: 'linked/key' }, 'RuleDenied'],
    ['grep', { pattern: 'x', path: 'src' }, 'output'],
    ['grep', { pattern: 'x' }, 'RuleDenied'],
    ['glob', { pattern: 'secrets/*' }, 'RuleDenied'],
  ])('%s %j: %s', async (name, args, code) => {
    expect(await callIn(session)(name, args)).toBe(code)
  })
})
