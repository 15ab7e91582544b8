import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ProjectTrust } from '@bulkhead/contract'
import { describe, expect, test } from 'vitest'
import type { ConfinedReport, ConfinedRequest } from './confined-child.ts'
import { HomeFixture, manifestOf, toolOf } from '../home-fixture.ts'
import { PackageFixture } from '../signature/signed-package.ts'
import { SigstoreFixture } from '../signature/sigstore-fixture.ts'

const child = fileURLToPath(new URL('confined-child.ts', import.meta.url))
const repository = join(dirname(child), '..', '..', '..', '..')
/** Traces system calls, if the machine can. The record of Node is checked everywhere. */
const tracer = 'strace'
const tracerWorks = spawnSync(tracer, ['-f', '-o', '/dev/null', 'true']).status === 0

interface Confinement {
  readonly readable: readonly string[]
  /** Runs after the child has started with fixed permissions. */
  readonly prepare?: () => void
  readonly request: ConfinedRequest
  /** Whether it may start the schema thread. */
  readonly threads?: boolean
  /** The file of the system call trace, if this machine can write one. */
  readonly trace?: string
}

async function loadConfined({ readable, prepare, request, threads, trace }: Confinement): Promise<ConfinedReport> {
  const rights = [
    ...[repository, ...readable].map((path) => `--allow-fs-read=${path}`),
    ...(threads ? ['--allow-worker', '--no-warnings'] : []),
  ]
  const node = [process.execPath, '--permission', ...rights, child]
  const [command, ...args] = trace === undefined
    ? node : [tracer, '-f', '-e', 'trace=file,process,network', '-o', trace, ...node]
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
  prepare?.()
  running.send(request)
  const report = await message<ConfinedReport>()
  expect(await exited).toEqual([0, null])
  return report
}

describe('a project that is not trusted', () => {
  /** Does not exist when permissions are granted, so each grant covers one path and nothing below it. */
  const placesIn = (home: HomeFixture) =>
    ({ workspace: join(home.base, 'later'), root: join(home.base, 'later', '.bulkhead') })

  async function visit(home: HomeFixture, trust: ProjectTrust, trace?: string): Promise<ConfinedReport> {
    const { workspace, root } = placesIn(home)
    const prepare = (): void => {
      home.write(join(root, 'config.json'), { mode: 'yolo' })
      home.extension(root, 'weather')
    }
    return loadConfined(
      {
        readable: [workspace, root, home.globalRoot], prepare, request: { global: home.globalRoot, workspace, trust },
        ...(trace !== undefined && { trace }),
      },
    )
  }

  test('is not opened, listed or inspected', async () => {
    using home = new HomeFixture()
    const { root } = placesIn(home)
    const trace = tracerWorks ? join(home.base, 'trace') : undefined
    const report = await visit(home, 'declined', trace)
    expect(report).toMatchObject({ loaded: [], hasProjectLayer: true, standing: 'unknown', denials: [] })
    expect(report.diagnostics).toMatchObject([
      {
        severity: 'warning', stage: 'trust', code: 'ProjectTrustRequired', layer: 'project', extensionId: null,
        location: root,
        cure: 'Review the folder, then trust it: run `bulkhead trust` there, or pass `trust` to `createHost`.',
      },
    ])
    const touched = report.calls.filter(([, path]) => path.startsWith(root))
    expect(touched).toEqual([['lstatSync', root], ['lstatSync', root], ['lstatSync', root]])

    if (trace !== undefined) {
      const lines = readFileSync(trace, 'utf8').split('\n').filter((line) => line.includes(`"${root}`))
      expect(lines.length).toBeGreaterThanOrEqual(3)
      for (const line of lines) expect(line).toMatch(new RegExp(`(?:statx|newfstatat|lstat)\\([^"]*"${root}",`))
    }
  })

  test('would be detected: with trust, Node denies the same access', async () => {
    using home = new HomeFixture()
    const { root } = placesIn(home)
    const report = await visit(home, 'trusted')
    expect(report.loaded).toEqual([])
    expect(report.denials.join('\n')).toContain(join(root, 'config.json'))
    expect(report.calls).toContainEqual(['openSync', join(root, 'config.json')])
  })
})

/** Node requests the inspector for each thread, and works without it. */
const denied = ({ denials }: ConfinedReport): readonly string[] =>
  denials.filter((denial) => !denial.startsWith('inspector'))

describe('loading', () => {
  test('runs nothing, writes nothing, starts nothing and makes no request', async () => {
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
    const trace = tracerWorks ? join(home.base, 'trace') : undefined
    const request: ConfinedRequest = { global: home.globalRoot, workspace: home.workspace, trust: 'trusted' }
    const report = await loadConfined({
      readable: [home.base], threads: true, request, ...(trace !== undefined && { trace }),
    })
    expect(report).toMatchObject({ loaded: ['weather', 'other'] })
    expect(denied(report)).toEqual([])
    expect(report.diagnostics.map(({ code }) => code)).toEqual(['ShapeInvalid', 'IntegrityTokenMissing'])
    const outside = report.calls.filter(([, path]) => !path.startsWith(home.base))
    expect(outside).toEqual([])

    if (trace !== undefined) {
      const lines = readFileSync(trace, 'utf8').split('\n')
      const opened = lines.filter((line) => line.includes(home.base) && /\bopenat?\(/.test(line))
      expect(opened.length).toBeGreaterThan(5)
      for (const line of opened) expect(line).not.toMatch(/O_WRONLY|O_RDWR|O_CREAT/)
      expect(lines.filter((line) => /\b(?:connect|execve|vfork|mkdirat|renameat2?|unlinkat)\(/.test(line)))
        .toHaveLength(1)
    }
  })

  test('verifies a signature without a network request', async () => {
    using home = new HomeFixture()
    await using sigstore = await SigstoreFixture.start()
    const signed = new PackageFixture()
    signed.install(home, await sigstore.sign(signed.integrityFile))
    const trace = tracerWorks ? join(home.base, 'trace') : undefined
    const request: ConfinedRequest = {
      global: home.globalRoot, workspace: home.workspace, trust: 'trusted', trustRoot: sigstore.trustRoot,
    }
    const report = await loadConfined({
      readable: [home.base], threads: true, request, ...(trace !== undefined && { trace }),
    })
    expect(report).toMatchObject({ loaded: ['weather'], diagnostics: [] })
    expect(denied(report)).toEqual([])
    if (trace !== undefined) {
      const lines = readFileSync(trace, 'utf8').split('\n')
      expect(lines.filter((line) => /\b(?:connect|execve|vfork|mkdirat|renameat2?|unlinkat)\(/.test(line)))
        .toHaveLength(1)
    }
  })

  test('loads bundled extensions where no thread can start, and reports the others', async () => {
    using home = new HomeFixture()
    home.extension(home.globalRoot, 'weather')
    const bundled = [manifestOf({ id: 'own', tools: [toolOf({ name: 'own' })] })]
    const request: ConfinedRequest = { global: home.globalRoot, workspace: home.workspace, trust: 'declined', bundled }
    const { loaded, diagnostics } = await loadConfined({ readable: [home.base], request })
    expect(loaded).toEqual(['own'])
    expect(diagnostics).toMatchObject([{
      extensionId: 'weather', stage: 'configSchema', code: 'SchemaCheckUnavailable',
      cure: expect.stringContaining('--allow-worker'),
    }])
  })
})
