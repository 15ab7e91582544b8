import { spawn, type ChildProcess } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { launcherFilter } from '../../../packages/broker/src/walls/filter-rules.ts'
import { ruleSet } from '../../../packages/broker/src/walls/landlock.ts'
import { launch, SpareLauncher, type Launch } from '../../../packages/broker/src/walls/launcher.ts'
import { LOOK_POWERS, nodeFiles } from '../../../packages/broker/src/walls/trial.ts'
import type { OsLayers } from '../../../packages/sandbox/src/os/os-layer.ts'
import { probeOsLayers, withoutLayers } from '../../../packages/sandbox/src/os/os-layers.ts'
import { spawnHull } from '../../../packages/sandbox/src/os/spawn-hull.ts'
import { defineSubject, type Runner, type Side } from '../harness/subject.ts'

// All sides run the same program. Where bubblewrap or Landlock does not work, their sides fail.
const PIPES = ['ignore', 'pipe', 'pipe'] as const
const BWRAP = [
  '--unshare-all', '--die-with-parent', '--cap-drop', 'ALL', '--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc',
]

interface CommandForm {
  start(argv: Launch['argv'], folder: string): ChildProcess
  close?(): void
}

const SYSTEM = nodeFiles()
const FILTER = launcherFilter({ ...LOOK_POWERS, confinesSignals: true })
const wallFor = (folder: string): Launch['wall'] =>
  ({ rules: ruleSet({ run: [...SYSTEM, folder], write: ['/dev/null'] }), filter: FILTER })
const launchOf = (argv: Launch['argv'], folder: string): Launch =>
  ({ argv, env: { PATH: '/usr/bin:/bin' }, cwd: folder, wall: wallFor(folder) })
const options = (folder: string) =>
  ({ cwd: folder, env: { PATH: '/usr/bin:/bin' }, detached: true, stdio: [...PIPES] as ('ignore' | 'pipe')[] })

const FORMS = {
  bare: () => ({ start: ([file, ...args], folder) => spawn(file, args, options(folder)) }),
  launcher: () => ({ start: (argv, folder) => launch(launchOf(argv, folder), PIPES).child }),
  'launcher with a spare': () => {
    const spare = new SpareLauncher()
    return { start: (argv, folder) => spare.launch(launchOf(argv, folder), PIPES).child, close: () => spare.close() }
  },
  bubblewrap: () => ({ start: (argv, folder) => spawn('/usr/bin/bwrap', [...BWRAP, '--', ...argv], options(folder)) }),
} as const satisfies Readonly<Record<string, () => CommandForm>>

/** A command line until its end. */
function command<const Name extends keyof typeof FORMS>(
  name: Name, argv: Launch['argv'], files: number, answer: string,
) {
  return {
    name,
    answer: () => answer,
    start: async (): Promise<Runner> => {
      const folder = await mkdtemp(join(tmpdir(), 'bulkhead-bench-'))
      await mkdir(join(folder, 'files'))
      const names = Array.from({ length: files }, (_, at) => join(folder, 'files', String(at)))
      await Promise.all(names.map((path) => writeFile(path, 'x'.repeat(1000))))
      const form: CommandForm = FORMS[name]()
      return {
        run: async () => {
          const child = form.start(argv, folder)
          const ended = new Promise((resolve) => child.once('close', resolve))
          const output = await text(child.stdout!)
          await ended
          return output.trim()
        },
        between: () => new Promise((resolve) => { setTimeout(resolve, SPARE_MS) }),
        stop: async () => {
          form.close?.()
          await rm(folder, { recursive: true, force: true })
        },
      }
    },
  } as const satisfies Side<Name>
}

/** For every side, so that each has the same rest. */
const SPARE_MS = 150
const HELLO = ['/bin/sh', '-c', 'echo hello'] as const
const COUNT = ['/bin/sh', '-c', 'cat files/* | wc -c'] as const

export const wallsCommand = defineSubject({
  title: 'Starting a command',
  compares: 'A short command line bare, behind the launcher, behind a launcher that waited for it, and in bubblewrap.',
  sides: [
    command('bare', HELLO, 0, 'hello'), command('launcher', HELLO, 0, 'hello'),
    command('launcher with a spare', HELLO, 0, 'hello'), command('bubblewrap', HELLO, 0, 'hello'),
  ],
  modes: [{ kind: 'latency' }],
  ratios: [
    { side: 'launcher with a spare', measure: 'p50', against: 'bare', is: '≤', ratio: 1.5 },
    { side: 'launcher', measure: 'p50', against: 'bare' }, { side: 'bubblewrap', measure: 'p50', against: 'bare' },
  ],
  rounds: 12,
})

export const wallsRead = defineSubject({
  title: 'Reading 1,000 files behind a wall',
  compares: 'One command that reads 1,000 files of 1,000 bytes, bare, behind a launcher that waited for it, and in '
    + 'bubblewrap.',
  sides: [
    command('bare', COUNT, 1000, '1000000'), command('launcher with a spare', COUNT, 1000, '1000000'),
    command('bubblewrap', COUNT, 1000, '1000000'),
  ],
  modes: [{ kind: 'latency' }],
  ratios: [
    { side: 'launcher with a spare', measure: 'p50', against: 'bare', is: '≤', ratio: 1.1 },
    { side: 'bubblewrap', measure: 'p50', against: 'bare' },
  ],
  rounds: 12,
})

const MACHINE = {
  node: process.execPath, platform: process.platform, architecture: process.arch, timeoutMs: 10_000,
  folders: ['/usr/bin', '/bin', '/usr/sbin', '/sbin'],
}

/** From the start of a hull to its first words. */
function hull<const Name extends string>(name: Name, layersOf: () => OsLayers | Promise<OsLayers>) {
  return {
    name,
    answer: () => 'hello',
    start: async (): Promise<Runner> => {
      const layers = await layersOf()
      return {
        run: async () => {
          const child = spawnHull(process.execPath, ['--eval', 'fs.writeSync(1, "hello")'], layers, { memoryMb: 128 })
          const ended = new Promise((resolve) => child.once('close', resolve))
          for (const stream of child.stdio.slice(2)) (stream as NodeJS.ReadableStream | null)?.resume()
          const output = await text(child.stdout!)
          await ended
          return output
        },
        stop: async () => undefined,
      }
    },
  } as const satisfies Side<Name>
}

export const wallsHull = defineSubject({
  title: 'Starting a hull',
  compares: 'Node bare, behind the launcher, behind util-linux as on a kernel without Landlock, and in bubblewrap.',
  sides: [
    hull('bare', () => withoutLayers('it is not wanted here')),
    hull('launcher', () => probeOsLayers({ ...MACHINE, hidden: ['bwrap'] })),
    hull('util-linux', () => probeOsLayers({ ...MACHINE, hidden: ['bwrap', 'launcher'] })),
    hull('bubblewrap', () => probeOsLayers(MACHINE)),
  ],
  modes: [{ kind: 'latency' }],
  ratios: [
    { side: 'launcher', measure: 'p50', against: 'util-linux' }, { side: 'launcher', measure: 'p50', against: 'bare' },
    { side: 'bubblewrap', measure: 'p50', against: 'bare' },
  ],
  rounds: 12,
})
