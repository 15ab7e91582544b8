import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { NO_GRANT, type CompartmentServices } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { createRecorder } from '../recorder.ts'
import { withSandbox, type ExampleCompartment, type SandboxTarget } from './sandbox-bench.ts'
import { groupOf, observed, unlessRejected, unlessResolved, unlessSame, type Bench, type Settled } from './verify.ts'

const CANARY = 'bulkhead-verify-canary-5d1f'

const SOURCE = `
const codeOf = (work) => Promise.resolve().then(work).then(() => 'done', (error) => error.code ?? String(error))
const load = (name) => import(name)
export default { tools: {
  bare: { async execute(args, runtime) {
    const members = []
    for (const member in runtime) members.push(member)
    const frozen = Object.isFrozen(runtime)
    return { members: members.sort(), frozen, used: await codeOf(() => runtime.fs.readText('in/a.txt')) }
  } },
  files: { async execute({ read, write }, runtime) {
    const text = await codeOf(() => runtime.fs.readText(read))
    return [text, await codeOf(() => runtime.fs.write(write, 'written'))]
  } },
  env: { execute: ({ names }, runtime) =>
    Promise.all(names.map((name) => runtime.env.get(name).catch((error) => error.code))) },
  count: { async execute(args, { state }) {
    const before = await state.read()
    await state.write({ count: (before?.count ?? 0) + 1 })
    return before
  } },
  ask: { execute: (args, runtime) => runtime.interact.confirm('Sure?') },
  ambient: { async execute({ canary, path, port }) {
    const ways = {
      'node:fs': async () => (await load('node:fs')).readFileSync(path, 'utf8').includes(canary),
      'node:fs/promises': async () => (await (await load('node:fs/promises')).readFile(path, 'utf8')).includes(canary),
      'node:child_process': async () =>
        (await load('node:child_process')).execFileSync('cat', [path], { encoding: 'utf8' }).includes(canary),
      'process.env': () => Object.values(globalThis.process?.env ?? {}).includes(canary),
      'process.binding': () => globalThis.process?.binding?.('fs') !== undefined,
      'fetch': async () => (await fetch('http://127.0.0.1:' + port)).ok,
      'a file outside of the package': async () => await load('file://' + path) !== undefined,
    }
    const found = []
    for (const [name, way] of Object.entries(ways)) {
      if (await Promise.resolve().then(way).catch(() => false)) found.push(name)
    }
    return found
  } },
  leave: { execute() { globalThis.left = 'here'; Array.prototype.left = 'here' } },
  look: { execute: () => [globalThis.left ?? null, [].left ?? null] },
} }
`
const FILES = { fs: { read: ['{workspace}/in/**'], write: ['{workspace}/out/**'] } }
const ENV = ['VERIFY_SET', 'VERIFY_UNSET']
const TOOLS: ExampleCompartment['tools'] = {
  bare: {}, files: FILES, env: {}, count: {}, ask: { capabilities: ['interact'] }, ambient: {}, leave: {}, look: {},
}

async function observePowers(target: SandboxTarget, bench: Bench) {
  // Before the compartment starts, because a thread gets a copy.
  process.env[CANARY] = CANARY
  try {
    return await powersIn(target, bench)
  } finally {
    delete process.env[CANARY]
  }
}

async function powersIn(target: SandboxTarget, bench: Bench) {
  return withSandbox(target, bench, async ({ workspace, open }) => {
    const secret = join(bench.folder, 'secret.mjs')
    await writeFile(secret, `export default '${CANARY}'\n`)
    for (const folder of ['in', 'out']) await mkdir(join(workspace, folder))
    await writeFile(join(workspace, 'in/a.txt'), 'text')
    const slot: { data: Json } = { data: null }
    const state = { read: async () => slot.data, write: async (data: Json) => void (slot.data = data) }
    const services = { env: new Map([['VERIFY_SET', 'value']]) }
    const isInline = target.placement === 'inline'
    const { call } = await open({ source: SOURCE, tools: TOOLS, env: ENV, services })
    const readText = (path: string): Promise<string | undefined> =>
      readFile(join(workspace, path), 'utf8').catch(() => undefined)
    const bare = await call('bare')
    const inside = await call('files', { read: 'in/a.txt', write: 'out/a.txt' })
    const outside = await call('files', { read: '../secret.mjs', write: 'in/a.txt' })
    const narrowed = await call('files', { read: 'in/a.txt', write: 'out/narrow.txt' }, { grant: NO_GRANT })
    const env = await call('env', { names: [...ENV, 'PATH'] })
    const alone = await call('ask')
    const questions: Json[] = []
    const interact: CompartmentServices['interact'] = async (_, question) => {
      questions.push(question as unknown as Json)
      return { status: 'accepted', value: true }
    }
    if (!isInline) await call('leave')
    const other = await open({ source: SOURCE, tools: TOOLS, env: ENV, services: { ...services, state, interact } })
    const look = await other.call('look')
    const asked = await other.call('ask')
    const counted = [await other.call('count'), await other.call('count')]
    const recorder = await createRecorder()
    const { port } = recorder.dryRun
    const ambient = isInline ? undefined : await call('ambient', { canary: CANARY, path: secret, port })
    await recorder.close()
    const written = { inside: await readText('out/a.txt'), outside: await readText('in/a.txt') }
    return { bare, inside, outside, narrowed, written, env, alone, asked, questions, counted, slot, ambient, look }
  })
}

const SPEC = 'docs/explanation/security.md'
const RUNTIME = 'docs/guides/publishing.md'
/** Those of every call. `env` is declared for the whole extension. */
const MEMBERS = ['call', 'callId', 'config', 'log', 'progress', 'signal', 'toolName', 'update', 'step']
const membersOf = ({ value }: Settled<Json>): readonly string[] =>
  ((value as { readonly members?: readonly string[] } | null | undefined)?.members ?? [])

export const POWERS = groupOf(observed(observePowers), [
  {
    id: 'sandbox-runtime-parts', level: 'must', spec: RUNTIME,
    statement: 'The runtime of a tool has the members of every call, and further parts only as granted.',
    why: 'A tool is confined to its own requirements, not to those of its extension.',
    cure: 'Make the runtime from the grant of the tool that is called.',
    check: ({ bare }) => {
      const missing = MEMBERS.find((name) => !membersOf(bare).includes(name))
      const extra = membersOf(bare).find((name) => !MEMBERS.includes(name) && name !== 'env')
      const { frozen } = bare.value as { readonly frozen?: boolean }
      return missing ? `${missing} is missing` : extra ? `a tool without powers has ${extra}`
        : frozen ? undefined : 'the runtime can be changed'
    },
  },
  {
    id: 'sandbox-undeclared', level: 'must', spec: RUNTIME,
    statement: 'A part that is not granted rejects with CapabilityDenied.',
    why: 'The author learns what to declare.',
    cure: 'Check every use in the host, also of parts that the runtime does not show.',
    check: ({ bare: { value } }) => {
      const used = (value as { readonly used?: string } | null | undefined)?.used
      return used === 'CapabilityDenied' ? undefined : `the use of fs ended with ${used}`
    },
  },
  {
    id: 'sandbox-files', level: 'must', spec: SPEC,
    statement: 'A tool reads and writes files inside its patterns.',
    why: 'That is what its manifest declares and a person agreed to.',
    cure: 'Resolve relative paths in the workspace, and compare the real path with the patterns.',
    check: ({ inside, written }) => unlessResolved(inside, ['done', 'done'])
      ?? (written.inside === 'written' ? undefined : 'the file was not written'),
  },
  {
    id: 'sandbox-files-outside', level: 'must', spec: SPEC,
    statement: 'A file outside of the patterns is neither read nor written: CapabilityDenied.',
    why: 'No person agreed to it.',
    cure: 'Check every path in the host, after links and dots are resolved.',
    check: ({ outside, written }) => unlessResolved(outside, ['CapabilityDenied', 'CapabilityDenied'])
      ?? (written.outside === 'text' ? undefined : 'the file was written'),
  },
  {
    id: 'sandbox-session-grant', level: 'must', spec: SPEC,
    statement: 'The grant of a call, if it has one, applies instead of the grant of its tool.',
    why: 'A session may allow less than the manifest asks for.',
    cure: 'Check uses of a call against `grant` of its invocation.',
    check: ({ narrowed }) => unlessResolved(narrowed, ['CapabilityDenied', 'CapabilityDenied']),
  },
  {
    id: 'sandbox-env', level: 'must', spec: RUNTIME,
    statement: 'A declared variable is read, one without a value is EnvNameNotSet, any other EnvNameUndeclared.',
    why: 'Environments are full of credentials.',
    cure: 'Look names up in the services of the compartment, never in the environment of the process.',
    check: ({ env }) => unlessResolved(env, ['value', 'EnvNameNotSet', 'EnvNameUndeclared']),
  },
  {
    id: 'sandbox-services', level: 'must', spec: RUNTIME,
    statement: 'A question reaches the service of the host. Without the service it is InteractionUnavailable.',
    why: 'A tool must not wait for an answer that cannot come.',
    cure: 'Treat an absent service as a power that the compartment does not have.',
    check: ({ alone, asked, questions }) => unlessRejected(alone, 'InteractionUnavailable')
      ?? unlessResolved(asked, true) ?? unlessSame(questions, [{ kind: 'Confirm', prompt: 'Sure?' }]),
  },
  {
    id: 'sandbox-state', level: 'must', spec: RUNTIME,
    statement: 'State is read and written in the slot of the host.',
    why: 'It outlives the compartment.',
    cure: 'Keep nothing of it in the compartment.',
    check: ({ counted: [first, second], slot }) => unlessResolved(first!, null)
      ?? unlessResolved(second!, { count: 1 }) ?? unlessSame(slot.data, { count: 2 }),
  },
  {
    id: 'sandbox-ambient', level: 'must', spec: SPEC,
    statement: 'Code has no other way to files, commands, the network or the environment.',
    why: 'Patterns and approvals mean nothing if code can avoid the broker.',
    cure: 'Remove ambient access before the code is imported, and refuse imports from outside of the package.',
    check: ({ ambient }) => ambient && unlessResolved(ambient, []),
  },
  {
    id: 'sandbox-isolated', level: 'must', spec: SPEC,
    statement: 'Compartments share no globals.',
    why: 'One extension could change what another one does.',
    cure: 'Give each compartment a thread or a process of its own.',
    check: ({ look }) => unlessResolved(look, [null, null]),
  },
])
