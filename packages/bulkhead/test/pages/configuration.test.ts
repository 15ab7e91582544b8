import {
  mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { configFileSchema } from '@bulkhead/contract/validation'
import type { ConfigFile, Outcome } from '@bulkhead/contract'
import { createMemoryStore } from '@bulkhead/store'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { has, WALLS } from '../../../../scripts/machine.ts'
import { LONG, thoroughly } from '../../../../scripts/thoroughly.ts'
import { lookWall } from '../../../broker/src/index.ts'
import { createHost, type Host, type Session } from '../../src/index.ts'
import { CACHE } from '../cache.ts'
import { BLOCKS, placeOf } from './blocks.ts'

const WALLS_AND_LONG = { tags: ['walls', 'long'] }
const isWalled = has('bubblewrap') || (await lookWall()).stands
/** The text of the file that rules deny. No call contains it. */
const SECRET = 'precious-7f3a\n'

let root: string
let workspace: string
let host: Host | undefined
/** Made once for the cases of a `describe`: they differ in the call, not in the configuration. */
const setUp = (): void => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-examples-')))
  workspace = join(root, 'workspace')
  for (const folder of ['src', 'secrets']) mkdirSync(join(workspace, folder), { recursive: true })
  writeFileSync(join(workspace, 'a.txt'), 'here\n')
  const scripts = { test: 'cat secrets/key; echo x > secrets/b' }
  writeFileSync(join(workspace, 'package.json'), JSON.stringify({ scripts }))
  writeFileSync(join(workspace, 'secrets/key'), SECRET)
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
  // The server of an example does not exist.
  const store = config.store && { store: createMemoryStore() }
  host = await createHost({
    workspace, home: join(root, 'home'), env, config, cache: CACHE, discover: 'when-asked', ...store,
  })
  return host.openSession({ approver: { approve: async () => ({ decision: 'reject' }) } })
}
/** The denied folder, as it was at first. */
const expectUntouched = (): void => {
  expect(readdirSync(join(workspace, 'secrets'))).toEqual(['key'])
  expect(readFileSync(join(workspace, 'secrets/key'), 'utf8')).toBe(SECRET)
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

  const canRead = async (_: string, config: ConfigFile): Promise<void> => {
    const session = await open(config)
    const call = thoroughly(explainIn, callIn)(session)
    expect(await call('bash', { command: 'ls && cat a.txt' })).toBe('output')
    expect(await call('grep', { pattern: 'here' })).toBe('output')
    expect(await callIn(session)('read', { path: 'a.txt' })).toBe('output')
  }
  const isOfReference = ([place]: (typeof EXAMPLES)[number]): boolean => place.startsWith('docs/reference/')
  it.each(EXAMPLES.filter(isOfReference))('%s, files of the workspace can be read', canRead)
  it.each(EXAMPLES.filter((one) => !isOfReference(one)))('%s, files of the workspace can be read', LONG, canRead)
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
    ['bash', { command: 'cat secrets/key' }, 'output'],
    ['bash', { command: 'echo x > src/b' }, 'ApprovalDenied'],
    ['bash', { command: 'echo x > secrets/b' }, 'RuleDenied'],
    ['bash', { command: 'echo x > src/../secrets/b' }, 'RuleDenied'],
    ['bash', { command: 'echo x > linked/b' }, 'RuleDenied'],
    ['bash', { command: 'npm test' }, 'ApprovalDenied'],
    ['bash', { command: 'cp a.txt src/b' }, 'ApprovalDenied'],
    ['bash', { command: 'for i in 1; do touch $i; done' }, 'ApprovalDenied'],
    ['write', { path: 'src/b', content: 'x' }, 'output'],
    ['write', { path: 'src/deep/b', content: 'x' }, 'ApprovalDenied'],
    ['write', { path: 'secrets/b', content: 'x' }, 'RuleDenied'],
    ['write', { path: 'secrets/deep/b', content: 'x' }, 'RuleDenied'],
    ['write', { path: 'src/../secrets/b', content: 'x' }, 'RuleDenied'],
    ['write', { path: 'linked/b', content: 'x' }, 'RuleDenied'],
    ['write', { path: 'linked/../secrets/b', content: 'x' }, 'RuleDenied'],
    ['edit', { path: 'secrets/key', old_string: 'precious', new_string: 'x' }, 'RuleDenied'],
    ['edit', { path: 'a.txt', old_string: 'here', new_string: 'x' }, 'ApprovalDenied'],
  ])('the call %s %j has the outcome %s', WALLS, async (name, args, code) => {
    // Where no mounts keep a command that writes from the files, the rule decides before it starts.
    const expected = name === 'bash' && code === 'ApprovalDenied' && !has('bubblewrap') ? 'RuleDenied' : code
    const { decision } = await session.explain({ id: 'e', name, arguments: args as never })
    expect(await callIn(session)(name, args)).toBe(expected)
    expectUntouched()
    expect(decision).toBe(expected === 'output' ? 'allow' : expected === 'RuleDenied' ? 'deny' : 'ask')
  })

  it('a listed command runs behind a wall that can keep it from the files', WALLS, async () => {
    expect(await callIn(session)('bash', { command: 'ps aux' })).toBe(has('bubblewrap') ? 'output' : 'RuleDenied')
  })

  it('a link to a file that does not exist is followed when it is written, and the write is refused', async () => {
    const args = { path: 'src/dangling', content: 'x' }
    const { decision, later } = await session.explain({ id: 'e', name: 'write', arguments: args })
    expect({ decision, later }).toMatchObject({ decision: 'allow', later: [{ action: 'deny' }] })
    expect(await callIn(session)('write', args)).toBe('RuleDenied')
    expectUntouched()
  })
})

describe('with the same example, in a mode that asks about no command', () => {
  let session: Session
  beforeAll(async () => {
    setUp()
    session = await open({ ...OF_CONFIGURATION, mode: 'yolo' })
  })
  afterAll(tearDown)

  const writesNothing = async (command: string): Promise<void> => {
    await callIn(session)('bash', { command })
    expectUntouched()
  }
  it.each([
    'cp a.txt secrets/b', 'cp a.txt linked/b', 'echo x > src/dangling', 'for i in secrets/b; do touch $i; done',
    'rm -r secrets', 'ln secrets/key src/hard && echo x > src/hard',
  ])('bash %s writes nothing there', WALLS, writesNothing)
  it.each([
    'npm test', 'cp a.txt src/../secrets/b', 'cat a.txt | tee src/dangling', "sh -c 'echo x > secrets/key'",
    'mv secrets other; touch other/b; mv other secrets',
  ])('bash %s writes nothing there', WALLS_AND_LONG, writesNothing)

  it('a command that writes elsewhere runs behind a wall that can hold it, and only there', WALLS, async () => {
    const isHeld = has('bubblewrap')
    expect(await callIn(session)('bash', { command: 'cp a.txt src/copy' })).toBe(isHeld ? 'output' : 'RuleDenied')
    expect(readdirSync(join(workspace, 'src')).includes('copy')).toBe(isHeld)
  })
})

describe('with rules that allow some commands and deny all others', () => {
  let session: Session
  beforeAll(async () => {
    setUp()
    const rule = (pattern: string, action: 'allow' | 'deny') => ({ permission: 'bash', pattern, action })
    session = await open({})
    await session.close()
    session = await host!.openSession({ rules: [rule('*', 'deny'), rule('cat*', 'allow'), rule('cp*', 'allow')] })
  })
  afterAll(tearDown)

  it('allowed commands see the files of the workspace', WALLS, async () => {
    const stdoutOf = async (command: string): Promise<unknown> => {
      const outcome = await session.call({ id: crypto.randomUUID(), name: 'bash', arguments: { command } })
      return outcome.type === 'output' ? (outcome.data as { readonly stdout: string }).stdout : outcome.error.code
    }
    expect(await stdoutOf('cat a.txt')).toBe('here\n')
    // Without a wall the mode still asks, and no one answers.
    expect(await stdoutOf('cp a.txt src/c && cat src/c')).toBe(isWalled ? 'here\n' : 'ApprovalDenied')
    expect(await stdoutOf('ls')).toBe('RuleDenied')
  })
})

describe('with a rule that denies reading', () => {
  let session: Session
  beforeAll(async () => {
    setUp()
    session = await open({ mode: 'yolo', rules: [{ permission: 'fs.read', pattern: 'secrets/**', action: 'deny' }] })
  })
  afterAll(tearDown)

  it.each<[string, object, string]>([
    ['bash', { command: 'cat a.txt' }, 'output'],
    ['bash', { command: 'ls' }, 'output'],
    ['bash', { command: 'cat secrets/key' }, 'RuleDenied'],
    ['bash', { command: 'cat < secrets/key' }, 'RuleDenied'],
    ['bash', { command: 'cat linked/key' }, 'RuleDenied'],
    ['bash', { command: 'ls secrets' }, 'RuleDenied'],
    ['bash', { command: 'cd secrets && cat key' }, 'RuleDenied'],
    ['read', { path: 'a.txt' }, 'output'],
    ['read', { path: 'secrets/key' }, 'RuleDenied'],
    ['read', { path: 'src/../secrets/key' }, 'RuleDenied'],
    ['read', { path: 'linked/key' }, 'RuleDenied'],
    ['grep', { pattern: 'x', path: 'src' }, 'output'],
    ['glob', { pattern: 'secrets/*' }, 'RuleDenied'],
  ])('the call %s %j has the outcome %s', WALLS, async (name, args, code) => {
    expect(await callIn(session)(name, args)).toBe(code)
  })

  const neverPrints = async (command: string): Promise<void> => {
    const outcome = await session.call({ id: crypto.randomUUID(), name: 'bash', arguments: { command } })
    expect(JSON.stringify(outcome)).not.toContain(SECRET.trim())
    if (outcome.type === 'error') expect(outcome.error.code).toBe('RuleDenied')
  }
  it.each([
    'cat */key', 'grep -rn precious .', 'find . -exec grep precious {} +', '(cd secrets && cat key)',
    'cp secrets/key src/b && cat src/b', 'ln secrets/key src/c && cat src/c',
  ])('bash %s never prints the file', WALLS, neverPrints)
  it.each([
    'ls | sort', 'echo $HOME', 'ls -R', 'grep -d recurse precious', 'git grep --no-index precious',
    'ls | xargs grep -r precious', 'wc $(ls)', 'npm test',
    'node -e \'console.log(fs.readFileSync("secrets/key", "utf8"))\'',
  ])('bash %s never prints the file', WALLS_AND_LONG, neverPrints)

  it('a search leaves the file out, and says so', async () => {
    const outcome = await session.call({ id: 'g', name: 'grep', arguments: { pattern: 'precious' } })
    expect(outcome).toMatchObject({ data: { matches: [], left_out: 1 } })
  })
})
