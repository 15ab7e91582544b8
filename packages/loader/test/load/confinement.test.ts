import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ProjectTrust } from '@bulkhead/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ConfinedReport, ConfinedRequest } from './confined-child.ts'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { HomeFixture, manifestOf, toolOf } from '../home-fixture.ts'
import { PackageFixture } from '../signature/signed-package.ts'
import { SigstoreFixture } from '../signature/sigstore-fixture.ts'

const child = fileURLToPath(new URL('confined-child.ts', import.meta.url))
const repository = join(dirname(child), '..', '..', '..', '..')
/** Traces system calls, if the machine can. The record of Node is checked everywhere. */
const tracer = 'strace'
/** With a filter in the kernel if it can, because stopping at every call takes longer than loading. */
const tracing = [['-f', '--seccomp-bpf'], ['-f']].find((options) =>
  spawnSync(tracer, [...options, '-o', '/dev/null', 'true']).status === 0)

interface Confinement {
  readonly readable: readonly string[]
  /** Whether it may start the schema thread. */
  readonly threads?: boolean
  readonly loads: readonly {
    /** Runs after the child has started with fixed permissions. */
    readonly prepare?: () => void
    readonly request: ConfinedRequest
  }[]
}
interface Confined {
  readonly reports: readonly ConfinedReport[]
  /** The system calls, if this machine can trace them. */
  readonly trace: readonly string[] | undefined
}

/** Loads several times in one child process, because starting it takes far longer than loading. */
async function loadConfined({ readable, threads, loads }: Confinement): Promise<Confined> {
  using home = new HomeFixture()
  const trace = join(home.base, 'trace')
  const rights = [
    ...[repository, ...readable].map((path) => `--allow-fs-read=${path}`),
    ...(threads ? ['--allow-worker', '--no-warnings'] : []),
  ]
  const node = [process.execPath, '--permission', ...rights, child]
  const [command, ...args] = tracing === undefined
    ? node : [tracer, ...tracing, '-e', 'trace=file,process,network', '-o', trace, ...node]
  const running = spawn(command!, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'], env: {} })
  const exited = once(running, 'exit') as Promise<[number | null]>
  const message = async <T>(): Promise<T> => {
    const early = exited.then(([code]): never => {
      throw new Error(`The child ended with ${code} before it answered.`)
    })
    const [first] = await Promise.race([once(running, 'message'), early]) as [T]
    return first
  }
  await message()
  const reports: ConfinedReport[] = []
  for (const { prepare, request } of loads) {
    prepare?.()
    running.send(request)
    reports.push(await message<ConfinedReport>())
  }
  running.disconnect()
  expect(await exited).toEqual([0, null])
  return { reports, trace: tracing && readFileSync(trace, 'utf8').split('\n') }
}

describe('without permission to start a thread', () => {
  const homes = new DisposableStack()
  const [declined, trusted, bundling] = Array.from({ length: 3 }, () => homes.use(new HomeFixture())) as
    [HomeFixture, HomeFixture, HomeFixture]
  afterAll(() => homes.dispose())
  /** Does not exist when permissions are granted, so each grant covers one path and nothing below it. */
  const placesIn = (home: HomeFixture) =>
    ({ workspace: join(home.base, 'later'), root: join(home.base, 'later', '.bulkhead') })
  const visit = (home: HomeFixture, trust: ProjectTrust): Confinement['loads'][number] => {
    const { workspace, root } = placesIn(home)
    const prepare = (): void => {
      home.write(join(root, 'config.json'), { mode: 'yolo' })
      home.extension(root, 'weather')
    }
    return { prepare, request: { global: home.globalRoot, workspace, trust } }
  }

  let confined: Confined
  beforeAll(async () => {
    bundling.extension(bundling.globalRoot, 'weather')
    const bundled = [manifestOf({ id: 'own', tools: [toolOf({ name: 'own' })] })]
    const { globalRoot: global, workspace } = bundling
    const readable = [declined, trusted].flatMap((home) => [...Object.values(placesIn(home)), home.globalRoot])
    confined = await loadConfined({
      readable: [...readable, bundling.base],
      loads: [
        visit(declined, 'declined'), visit(trusted, 'trusted'),
        { request: { global, workspace, trust: 'declined', bundled } },
      ],
    })
  })

  test('a project that is not trusted is not opened, listed or inspected', LONG, () => {
    const { root } = placesIn(declined)
    const { reports: [report], trace } = confined
    expect(report).toMatchObject({ loaded: [], hasProjectLayer: true, status: 'unknown', denials: [] })
    expect(report!.diagnostics).toMatchObject([
      {
        severity: 'warning', stage: 'trust', code: 'ProjectTrustRequired', layer: 'project', extensionId: null,
        location: root,
        cure: 'Review the folder, then trust it: run `bulkhead trust` there, or pass `trust` to `createHost`.',
      },
    ])
    const touched = report!.calls.filter(([, path]) => path.startsWith(root))
    expect(touched).toEqual([['lstatSync', root], ['lstatSync', root], ['lstatSync', root]])

    if (trace !== undefined) {
      const lines = trace.filter((line) => line.includes(`"${root}`))
      expect(lines.length).toBeGreaterThanOrEqual(3)
      for (const line of lines) expect(line).toMatch(new RegExp(`(?:statx|newfstatat|lstat)\\([^"]*"${root}",`))
    }
  })

  test('access to it would be detected: with trust, Node denies it', () => {
    const { root } = placesIn(trusted)
    const report = confined.reports[1]!
    expect(report.loaded).toEqual([])
    expect(report.denials.join('\n')).toContain(join(root, 'config.json'))
    expect(report.calls).toContainEqual(['openSync', join(root, 'config.json')])
  })

  test('bundled extensions load, and the others are reported', () => {
    const { loaded, diagnostics } = confined.reports[2]!
    expect(loaded).toEqual(['own'])
    expect(diagnostics).toMatchObject([{
      extensionId: 'weather', stage: 'configSchema', code: 'SchemaCheckUnavailable',
      cure: expect.stringContaining('--allow-worker'),
    }])
  })
})

/** Node requests the inspector for each thread, and works without it. */
const denied = ({ denials }: ConfinedReport): readonly string[] =>
  denials.filter((denial) => !denial.startsWith('inspector'))

/** System calls that a load does not make. The start of the child is the only one. */
const FORBIDDEN = /\b(?:connect|execve|vfork|mkdirat|renameat2?|unlinkat)\(/
const load = ({ globalRoot: global, workspace }: HomeFixture, over: Partial<ConfinedRequest> = {}) =>
  ({ request: { global, workspace, trust: 'trusted', ...over } as const })

test('loading runs nothing, writes nothing, starts nothing and makes no request', async () => {
  using home = new HomeFixture()
  const hostile = 'process.exit(7); globalThis.x = await fetch("http://localhost"); export default {}'
  home.extension(
    home.globalRoot, 'weather', manifestOf(),
    {
      'index.js': hostile, 'bulkhead.config.js': hostile, '.npmrc': '',
      'package.json': '{"scripts":{"install":"exit 7"}}',
    },
  )
  home.extension(home.globalRoot, 'broken', '{')
  home.extension(home.projectRoot, 'other')
  home.write(join(home.globalRoot, 'config.json'), { mode: 'ask' })
  const { reports: [report], trace } = await loadConfined({ readable: [home.base], threads: true, loads: [load(home)] })
  expect(report).toMatchObject({ loaded: ['weather', 'other'] })
  expect(denied(report!)).toEqual([])
  expect(report!.diagnostics.map(({ code }) => code)).toEqual(['ShapeInvalid', 'IntegrityTokenMissing'])
  expect(report!.calls.filter(([, path]) => !path.startsWith(home.base))).toEqual([])

  if (trace !== undefined) {
    const opened = trace.filter((line) => line.includes(home.base) && /\bopenat?\(/.test(line))
    expect(opened.length).toBeGreaterThan(5)
    for (const line of opened) expect(line).not.toMatch(/O_WRONLY|O_RDWR|O_CREAT/)
    expect(trace.filter((line) => FORBIDDEN.test(line))).toHaveLength(1)
  }
})

test('a signature is verified without starting a program, a connection or a change of files', LONG, async () => {
  using home = new HomeFixture()
  await using sigstore = await SigstoreFixture.start()
  const signed = new PackageFixture()
  signed.install(home, await sigstore.sign(signed.integrityFile))
  const { reports: [report], trace } = await loadConfined({
    readable: [home.base], threads: true, loads: [load(home, { trustRoot: sigstore.trustRoot })],
  })
  expect(report).toMatchObject({ loaded: ['weather'], diagnostics: [] })
  expect(denied(report!)).toEqual([])
  if (trace !== undefined) expect(trace.filter((line) => FORBIDDEN.test(line))).toHaveLength(1)
})
