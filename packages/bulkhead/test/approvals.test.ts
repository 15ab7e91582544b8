import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { ApprovalAnswer, ApprovalRequest } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LONG } from '../../../scripts/thoroughly.ts'
import {
  createHost, createProgrammaticInteractor, openSqliteStore, type CreateHostOptions, type Host, type Session,
} from '../src/index.ts'
import { CACHE } from './cache.ts'
import { inside } from './command-inside.ts'
import { IN_THREADS, writeExtension } from './extension-folder.ts'

let folder: string
let hosts: Host[]
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-approvals-')))
  hosts = []
})
afterEach(async () => {
  await Promise.all(hosts.map((host) => host.close()))
  rmSync(folder, { recursive: true, force: true })
})

const home = () => join(folder, 'home/.bulkhead')
const project = () => join(folder, '.bulkhead')

async function open(options: Partial<CreateHostOptions> = {}): Promise<Host> {
  const store = await openSqliteStore({ file: join(home(), 'bulkhead.db') })
  const host = await createHost({
    workspace: folder, home: home(), cache: CACHE, store, trust: 'once', env: {},
    config: { ...IN_THREADS, approvals: { project: true } }, ...options,
  })
  hosts.push(host)
  return host
}

/** A user who always gives the same answer. Records the questions. */
function person(decision: ApprovalAnswer['decision'], covers: NonNullable<ApprovalAnswer['covers']> = 'key') {
  const asked: ApprovalRequest[] = []
  return {
    asked,
    approver: {
      approve: async (request: ApprovalRequest): Promise<ApprovalAnswer> => {
        asked.push(request)
        return { decision, covers, by: 'Ada' }
      },
    },
  }
}

const call = async (session: Session, name: string, args: JsonObject) => {
  const outcome = await session.call({ id: crypto.randomUUID(), name, arguments: args })
  return outcome.type === 'output' ? 'output' : outcome.error.code
}

const TOOL = {
  name: 'greet', description: 'Greets.', inputSchema: { type: 'object', properties: { name: { type: 'string' } } },
  gated: true, approvalKey: '{name}',
} as const
const CODE = 'export default { tools: { greet: { execute: ({ name }) => "hello " + name } } }'
const write = (tool: object = {}, code = CODE) =>
  writeExtension(home(), { id: 'greeter', tools: [{ ...TOOL, ...tool }] }, code)

describe('a project approval is asked for again when', () => {
  type Change = readonly [what: string, questions: number, change: () => void]
  const asks = async (_: string, questions: number, change: () => void): Promise<void> => {
    write()
    const host = await open()
    const { approver, asked } = person('project')
    const session = await host.openSession({ approver })
    expect(await call(session, 'greet', { name: 'you' })).toBe('output')
    expect(await call(session, 'greet', { name: 'you' })).toBe('output')
    expect(asked).toHaveLength(1)
    change()
    await host.reload()
    expect(await call(session, 'greet', { name: 'you' })).toBe('output')
    expect(asked).toHaveLength(1 + questions)
  }
  it.each<Change>([
    ['nothing', 0, () => write()],
    ['its requirements', 1, () => write({ requires: { fs: { read: ['{workspace}'] } } })],
    ['one byte of the code', 1, () => write({}, `${CODE} `)],
    ['the extension that provides the name', 1, () => {
      const old = write()
      rmSync(old, { recursive: true })
      writeExtension(dirname(dirname(old)), { id: 'impostor', tools: [TOOL] }, CODE)
    }],
  ])('%s has changed on disk', asks)
  it.each<Change>([
    ['the description', 1, () => write({ description: 'Greets, and more.' })],
    ['the schema', 1, () => write({ inputSchema: { ...TOOL.inputSchema, title: 'other' } })],
    ['a file beside the code', 1, () => writeFileSync(join(write(), 'more.js'), 'export {}')],
    ['the layer of the tool', 1, () => {
      mkdirSync(join(project(), 'tools'), { recursive: true })
      renameSync(write(), join(project(), 'tools/greeter'))
    }],
  ])('%s has changed on disk', LONG, asks)
})

it('explain names the change since the approval', async () => {
  write()
  const host = await open()
  const session = await host.openSession({ approver: person('project').approver })
  await call(session, 'greet', { name: 'you' })
  write({ description: 'Greets, and more.' })
  await host.reload()
  const { decision, chain } = await session.explain({ id: 'c', name: 'greet', arguments: { name: 'you' } })
  expect(decision).toBe('ask')
  expect(chain).toContainEqual({
    stage: 'approval', action: 'pass', source: 'approval',
    reason: expect.stringMatching(
      /given to the global extension greeter 1\.0\.0; since then its package, its definition changed/,
    ),
  })
})

it('`gated: false` of an untrusted extension is ignored for a tool with effects', async () => {
  write({ gated: false, requires: { fs: { write: ['{workspace}/out'] } } })
  writeExtension(
    home(), { id: 'reader', tools: [{ ...TOOL, name: 'look', gated: false }] }, CODE.replace('greet', 'look'),
  )
  const host = await open()
  const { approver, asked } = person('reject')
  const session = await host.openSession({ approver })
  expect(await call(session, 'greet', { name: 'you' })).toBe('ApprovalDenied')
  expect(asked).toHaveLength(1)
  expect(await call(session, 'look', { name: 'you' })).toBe('output')
  expect(asked).toHaveLength(1)
})

it('`gated: false` and `mode: read` hand no variable of the host to a model without a question', async () => {
  const code = 'export default { tools: { greet: { execute: (_, { env }) => env.get("TOKEN") } } }'
  writeExtension(home(), { id: 'greeter', env: ['TOKEN'], tools: [{ ...TOOL, gated: false, mode: 'read' }] }, code)
  const host = await open({ env: { TOKEN: 'of the host' } })
  const { approver, asked } = person('reject')
  expect(await call(await host.openSession(), 'greet', { name: 'you' })).toBe('ApprovalDenied')
  expect(await call(await host.openSession({ approver }), 'greet', { name: 'you' })).toBe('ApprovalDenied')
  expect(asked).toMatchObject([
    { tool: 'greet', mode: 'local', mayTouch: expect.arrayContaining([expect.stringContaining('TOKEN')]) },
  ])
})

describe('an approved folder', () => {
  const put = (session: Session, path: string) => call(session, 'write', { path, content: 'x' })

  it('covers everything inside it, and nothing outside it', async () => {
    const host = await open()
    const { approver, asked } = person('session', 'folder')
    const session = await host.openSession({ approver })
    const questions = async (path: string) => {
      const before = asked.length
      expect(await put(session, path)).toBe('output')
      return asked.length - before
    }
    expect(await questions('src/deep/a.txt')).toBe(1)
    expect(await questions('src/deep/er/a.txt')).toBe(0)
    expect(await questions(`${folder}/src/deep/b.txt`)).toBe(0)
    expect(await questions('src/deeper/a.txt')).toBe(1)
    expect(await questions('src/a.txt')).toBe(1)
    expect(await questions('src/another/a.txt')).toBe(0)
    expect(await questions('docs/a.txt')).toBe(1)
    expect(await questions('a.txt')).toBe(1)
    expect(asked.at(-1)).toMatchObject({ approvalKey: 'a.txt', touches: [`write ${folder}/a.txt`] })
    // Its folder is the whole workspace, which is an answer of its own.
    expect(await questions('lib/deep/a.txt')).toBe(1)
    // Only for the tool that was approved.
    expect(await call(session, 'edit', { path: 'src/deep/a.txt', old_string: 'x', new_string: 'y' })).toBe('output')
    expect(asked.at(-1)).toMatchObject({ tool: 'edit' })
  })

  it('does not cover paths that lead out of it', async () => {
    const host = await open()
    const { approver, asked } = person('session', 'folder')
    const session = await host.openSession({ approver })
    await put(session, 'src/a.txt')
    await put(session, 'src/deep/a.txt')
    expect(asked).toHaveLength(1)
    mkdirSync(join(folder, 'src/one/two'), { recursive: true })
    await put(session, 'src/one/two/../a.txt')
    expect(asked).toHaveLength(2)
  })

  it('does not cover paths of a third-party tool, whose key is a plain string', async () => {
    writeExtension(home(), { id: 'greeter', tools: [{ ...TOOL, approvalKey: '{name}' }] }, CODE)
    const { approver, asked } = person('session')
    const session = await (await open()).openSession({ approver })
    for (const name of ['src', 'src/deep', '.']) await call(session, 'greet', { name })
    expect(asked).toHaveLength(3)
  })
})

describe('an "always" answer', () => {
  it('answers waiting questions and withdraws open ones of another session', async () => {
    write()
    const host = await open()
    const [one, two] = [createProgrammaticInteractor(), createProgrammaticInteractor()]
    const [first, second] = [await host.openSession({ interactor: one }), await host.openSession({ interactor: two })]
    const shown = (interactor: typeof one) =>
      new Promise<string>((seen) => {
        interactor.onQuestion(({ correlationId }) => seen(correlationId))
      })
    const [askedFirst, askedSecond] = [shown(one), shown(two)]
    const outcomes = [
      call(first, 'greet', { name: 'you' }), call(first, 'greet', { name: 'you' }),
      call(second, 'greet', { name: 'you' }),
    ]
    await askedSecond
    one.answer(await askedFirst, { status: 'accepted', value: { decision: 'project' } })
    expect(await Promise.all(outcomes)).toEqual(['output', 'output', 'output'])
    expect([one.pending, two.pending]).toEqual([[], []])
    expect(await host.approvals.list()).toMatchObject([{ uses: 2 }])
  })

  it('does not answer questions of another session if it is for one session', async () => {
    write()
    const host = await open()
    const { approver, asked } = person('session')
    for (const _ of [1, 2]) await call(await host.openSession({ approver }), 'greet', { name: 'you' })
    expect(asked).toHaveLength(2)
  })
})

it('the next call of a running host asks again after `bulkhead approvals revoke`', async () => {
  write()
  const host = await open()
  const { approver, asked } = person('project')
  const session = await host.openSession({ approver })
  for (const name of ['you', 'me']) await call(session, 'greet', { name })
  await call(session, 'greet', { name: 'you' })
  const approval = session.approvals().find(({ approvalKey }) => approvalKey === 'you')
  await host.flush()
  expect(await inside(['approvals', 'revoke', approval!.id], folder)).toMatchObject({ code: 0, stderr: '' })
  expect(await call(session, 'greet', { name: 'me' })).toBe('output')
  expect(asked).toHaveLength(2)
  expect(await call(session, 'greet', { name: 'you' })).toBe('output')
  expect(asked).toHaveLength(3)
})
