import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createHost, type Session } from 'bulkhead'
import { defineSubject, type Runner, type Side } from '../harness/subject.ts'

const FILES = 20
const LINES = 200
/** A model takes longer between two programs, so a spare process is ready for the next one. */
const MODEL_MS = 250

interface Step {
  readonly name: 'grep' | 'glob' | 'read'
  readonly args: object
}

const path = (at: number): string => `src/f${at % FILES}.ts`
const reads = (count: number): readonly Step[] =>
  Array.from({ length: count }, (_, at) => ({ name: 'read', args: { path: path(at) } }))
const MIXED: readonly Step[] = [
  ...Array.from({ length: 40 }, (_, at): Step => ({ name: 'grep', args: { pattern: `value${at}\\b`, path: 'src' } })),
  ...Array.from({ length: 20 }, (_, at): Step => ({ name: 'glob', args: { pattern: `**/f${at}*.ts` } })),
  ...reads(40),
]
const READS = reads(100)

/** Makes each call and returns how many there were. */
const programOf = (steps: readonly Step[]): string => `
  const steps = ${JSON.stringify(steps)}
  let done = 0
  for (const { name, args } of steps) {
    await tools[name](args)
    done++
  }
  return done
`

interface World {
  readonly session: Session
  readonly offered: readonly object[]
  call(name: string, args: object): Promise<unknown>
  close(): Promise<void>
}

async function open(codeMode: boolean): Promise<World> {
  await using opened = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'bulkhead-bench-'))
  opened.defer(() => rm(folder, { recursive: true, force: true }))
  const workspace = join(folder, 'workspace')
  await mkdir(join(workspace, 'src'), { recursive: true })
  for (let at = 0; at < FILES; at++) {
    const lines = Array.from({ length: LINES }, (_, line) => `export const value${line} = 'a line of file ${at}'`)
    await writeFile(join(workspace, path(at)), `${lines.join('\n')}\n`)
  }
  const host = await createHost({ workspace, home: join(folder, 'home'), trust: 'declined' })
  opened.defer(async () => void (await host.close()))
  const session = await host.openSession({ mode: 'yolo', codeMode })
  const offered = host.offeredTools(session)
  const started = opened.move()
  let calls = 0
  return {
    session, offered,
    async call(name, args) {
      const outcome = await session.call({ id: `c${++calls}`, name, arguments: args })
      if (outcome.type === 'error') throw new Error(`${outcome.error.code}: ${outcome.error_text}`)
      return outcome.data
    },
    close: () => started.disposeAsync(),
  }
}

const direct = <const Name extends string>(name: Name, steps: readonly Step[]) => ({
  name,
  answer: () => steps.length,
  start: async (): Promise<Runner> => {
    const { call, close } = await open(false)
    const run = async (): Promise<number> => {
      for (const step of steps) await call(step.name, step.args)
      return steps.length
    }
    return { run, between: () => sleep(MODEL_MS), stop: close }
  },
}) as const satisfies Side

const program = <const Name extends string>(name: Name, steps: readonly Step[]) => ({
  name,
  answer: () => steps.length,
  start: async (): Promise<Runner> => {
    const { call, close } = await open(true)
    const code = programOf(steps)
    const run = async (): Promise<unknown> => ((await call('code_mode', { code })) as { readonly value: unknown }).value
    return { run, between: () => sleep(MODEL_MS), stop: close }
  },
}) as const satisfies Side

export const codeMode = defineSubject({
  title: '100 calls of tools in one program, and the same calls one by one',
  compares: 'Complete calls through the facade, one after another: 40 grep, 20 glob and 40 read, made by the session '
    + 'and by a program of code_mode. Also 100 reads of a small file, which has no goal.',
  sides: [
    direct('100 calls', MIXED), program('100 calls in a program', MIXED), direct('100 reads', READS),
    program('100 reads in a program', READS),
  ],
  modes: [{ kind: 'latency' }],
  rounds: 8,
  ratios: [
    { side: '100 calls in a program', measure: 'p50', against: '100 calls', is: '≤', ratio: 1.3 },
    { side: '100 reads in a program', measure: 'p50', against: '100 reads' },
  ],
})

const TASK = 'How many exports does each file of src have, and how many are there in all?'
const TASK_CODE = `
const { paths } = await tools.glob({ pattern: 'src/*.ts' })
const counts = await Promise.all(paths.map(async (path) => {
  const { content } = await tools.read({ path })
  return [path, content.match(/^export /gm).length]
}))
return { counts: Object.fromEntries(counts), all: counts.reduce((sum, [, count]) => sum + count, 0) }
`

/** About four characters of English or code are a token. */
const tokensIn = (transcript: readonly unknown[]): number =>
  transcript.reduce<number>((sum, part) => sum + JSON.stringify(part).length / 4, 0)

const said = (name: string, args: object, result: unknown): readonly unknown[] => [{ name, arguments: args }, result]

/** The offered tools, the task, and each call with its result: what a model has in its context at the end. */
const transcriptSide = <const Name extends string>(name: Name, isCodeMode: boolean) => ({
  name,
  answer: () => FILES * LINES,
  start: async (): Promise<Runner> => {
    const { call, close, offered } = await open(isCodeMode)
    const tools = (offered as readonly { name: string; description: string; inputSchema: object }[])
      .map(({ name: tool, description, inputSchema }) => ({ name: tool, description, inputSchema }))
    const steps: readonly (readonly [string, object])[] = isCodeMode ? [['code_mode', { code: TASK_CODE }]] : [
      ['glob', { pattern: 'src/*.ts' }],
      ...reads(FILES - 1).map(({ name: tool, args }) => [tool, args] as const),
    ]
    return {
      run: async () => FILES * LINES,
      async tokens() {
        const messages = []
        for (const [tool, args] of steps) messages.push(...said(tool, args, await call(tool, args)))
        return tokensIn([tools, TASK, ...messages])
      },
      stop: close,
    }
  },
}) as const satisfies Side

export const codeModeTokens = defineSubject({
  title: 'What a model reads and writes in a task of 20 steps',
  compares: 'The offered tools, the task, the calls and their results, counted once, at four characters a token: 20 calls '
    + 'against one program that makes them.',
  sides: [transcriptSide('20 calls', false), transcriptSide('one program', true)],
  modes: [{ kind: 'tokens' }],
  rounds: 4,
  ratios: [{ side: 'one program', measure: 'tokens', against: '20 calls', is: '≤', ratio: 0.2 }],
})
