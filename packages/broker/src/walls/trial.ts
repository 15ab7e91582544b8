import { readFileSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { errorCode, messageOf } from '@bulkhead/kit/error-message'
import { isResourceShortage, mentionsResourceShortage } from '@bulkhead/kit/processes'
import { codeOfCommand, SYSTEM_FOLDERS } from '@bulkhead/kit/programs'
import { resourceShortage } from '../process/spawn.ts'
import { launcherFilter, type FilteredPowers } from './filter-rules.ts'
import { ruleSet, SIGNAL_ABI, type RuleSet } from './landlock.ts'
import { launch, LaunchError, type LaunchWall } from './launcher.ts'
import { callNumbers } from './system-calls.ts'

/** What an attacker tries behind a wall. Each group is a promise of some walls. */
export type TrialGroup =
  | 'privileges' | 'never' | 'files' | 'devices' | 'programs' | 'metadata' | 'sockets' | 'tcp' | 'processes' | 'control'
  | 'signals' | 'owners'

/** The files of a trial. Nothing of `outside` is granted. */
export interface TrialPlaces {
  /** Granted to be read. */
  readonly seen: string
  /** Granted to be changed. Absent for a program that may change nothing. */
  readonly own: string
  /** A device that is granted to be read. */
  readonly device: string
}

export interface TrialReport {
  /** The ABI of Landlock. */
  readonly abi: number
  /** What was not stopped. */
  readonly passed: readonly string[]
  /** What a program must be able to do, and could not. */
  readonly useless: readonly string[]
}

/** Whether a wall stands here: only if nothing in its trial passes. */
export type WallTrial =
  | { readonly stands: true; readonly abi: number; readonly confinesSignals: boolean }
  | { readonly stands: false; readonly reason: string }

const ATTACKER = fileURLToPath(new URL('../../trial.cjs', import.meta.url))
/** Node ends if it may not open the configuration of OpenSSL, but not if there is none. */
const FLAGS = ['--disable-warning=ExperimentalWarning', '--openssl-config=/nowhere']
const TRIAL_MS = 10_000
/** It has no effect on other programs, and every machine has it. */
const DEVICE = '/dev/zero'

/** What Node needs to run. */
export const nodeFiles = (): readonly string[] =>
  [...SYSTEM_FOLDERS, '/proc', '/etc/ld.so.cache', process.execPath, ...codeOfCommand(process.execPath, [], '/', '')]

/**
 * Runs the attacker behind a wall. Rejects with LaunchError if the wall cannot be made, and with NoPlaceFree when the
 * system is out of resources: then nothing is known.
 */
export async function tryWall(
  wallOf: (places: TrialPlaces) => LaunchWall, groups: readonly TrialGroup[],
): Promise<TrialReport> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'bulkhead-trial-')))
  try {
    const [outside, seen, own] = ['outside', 'seen', 'own'].map((name) => join(folder, name)) as [string, string, string]
    await Promise.all([mkdir(outside), mkdir(join(seen, 'folder'), { recursive: true }), mkdir(own)])
    const files = [join(outside, 'file'), join(outside, 'program'), join(seen, 'file'), join(seen, 'removed')]
    await Promise.all(files.map((path) => writeFile(path, '#!/bin/sh\n')))
    await chmod(join(outside, 'program'), 0o700)
    const places = { seen, own, device: DEVICE }
    return await attack(wallOf(places), (victim) => JSON.stringify(
      { ...places, outside, victim, calls: callNumbers(process.arch), groups },
    ))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** The victim has no capabilities either: the kernel protects a process that has more than the attacker. */
async function attack(wall: LaunchWall, orderFor: (victim: number) => string): Promise<TrialReport> {
  const argv = [process.execPath, ...FLAGS, '--eval', readFileSync(ATTACKER, 'utf8')] as const
  const waiting = { argv: ['/bin/sh', '-c', 'read never'], env: {}, cwd: '/', wall: {} } as const
  const victim = launch(waiting, ['pipe', 'ignore', 'ignore'])
  const { child, started } = launch({ argv, env: {}, cwd: '/', wall }, ['pipe', 'pipe', 'pipe'])
  const timer = setTimeout(() => child.kill('SIGKILL'), TRIAL_MS)
  try {
    const output = Promise.all([child.stdout, child.stderr].map((stream) => stream === null ? '' : text(stream)))
    const failure = await Promise.all([started, victim.started]).then(() => undefined, (error: unknown) => error)
    child.stdin?.on('error', () => undefined).end(failure === undefined ? orderFor(victim.child.pid!) : '')
    const [stdout = '', stderr = ''] = await output
    if (isResourceShortage(failure) || (stdout === '' && (child.killed || mentionsResourceShortage(stderr)))) {
      throw resourceShortage('The wall could not be tried', messageOf(failure ?? stderr), failure)
    }
    if (failure !== undefined) throw failure
    if (stdout === '') throw new LaunchError('the trial', stderr.trim().split('\n').at(-1) ?? '')
    return JSON.parse(stdout) as TrialReport
  } finally {
    clearTimeout(timer)
    victim.child.kill('SIGKILL')
  }
}

/** The groups that a wall with these powers must stop. Devices are governed by newer kernels only. */
export const promisesOf = ({ sockets, processes, metadata, confinesSignals }: FilteredPowers): readonly TrialGroup[] => [
  'privileges', 'never', 'files', ...(processes ? ['programs' as const] : ['processes' as const]),
  ...(metadata ? [] : ['metadata' as const]),
  ...(sockets === 'none' || sockets === 'nothing' ? ['sockets' as const] : sockets === 'tcp' ? ['tcp' as const] : []),
  'control', 'signals', ...(confinesSignals ? [] : ['owners' as const]),
]

/**
 * Whether a wall of Landlock and a filter with these powers stands here. `rulesOf` makes its rules. Where Landlock does
 * not confine signals, the filter does. Rejects when the system is out of resources.
 */
export async function provenWall(
  powers: Omit<FilteredPowers, 'confinesSignals'>, rulesOf: (places: TrialPlaces) => RuleSet,
): Promise<WallTrial> {
  if (process.platform !== 'linux') return { stands: false, reason: 'it exists on Linux only' }
  for (const confinesSignals of [true, false]) {
    const filter = launcherFilter({ ...powers, confinesSignals })
    if (filter === undefined) {
      return { stands: false, reason: `the numbers of system calls on ${process.arch} are not known` }
    }
    const groups = promisesOf({ ...powers, confinesSignals })
    try {
      const { abi, passed, useless } = await tryWall((places) => ({ rules: rulesOf(places), filter }), groups)
      if (passed.length === 0 && useless.length === 0) return { stands: true, abi, confinesSignals }
      if (confinesSignals && abi < SIGNAL_ABI) continue
      return { stands: false, reason: reasonOf(passed, useless) }
    } catch (error) {
      if (!(error instanceof LaunchError) && !isFileError(error)) throw error
      const reason = error instanceof LaunchError ? `${error.step} failed (${error.code})` : messageOf(error)
      return { stands: false, reason }
    }
  }
  return { stands: false, reason: 'signals cannot be confined' }
}

const reasonOf = (passed: readonly string[], useless: readonly string[]): string => passed.length > 0
  ? `its trial was not stopped at ${passed.join(', ')}` : `its trial was stopped at ${useless.join(', ')}`

const isFileError = (error: unknown): boolean =>
  ['EACCES', 'EPERM', 'EROFS', 'ENOSPC', 'ENOENT'].includes(errorCode(error) ?? '')

/** The powers behind the look wall: nothing outside a private folder can be changed or reached. */
export const LOOK_POWERS = { sockets: 'none', processes: true, metadata: false } as const

let look: Promise<WallTrial> | undefined

/** Whether the look wall stands without bubblewrap, tried once per process. A failure is tried again. */
export function lookWall(): Promise<WallTrial> {
  look ??= provenWall(LOOK_POWERS, ({ seen, own }) => ruleSet({ run: nodeFiles(), read: [seen], write: [own] }))
    .catch((error: unknown) => {
      look = undefined
      throw error
    })
  return look
}
