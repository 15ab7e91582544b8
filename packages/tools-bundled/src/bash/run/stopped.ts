import { constants } from 'node:os'
import type { PipeResult } from '@bulkhead/contract'

/** What stopped a command, as far as its output tells. `network`: it may write to the workspace, and lacks a host. */
export type StoppedBy = 'look' | 'work' | 'network'

const NO_NETWORK =
  /refused a connection to|(?:could not|unable to) resolve|name resolution|(?:nodename|name or service) n|network is unreachable|getaddrinfo|dial tcp|EAI_AGAIN|ENOTFOUND|ENETUNREACH/i
const NOT_PERMITTED = /read-only file system|\bEROFS\b|permission denied|\bEACCES\b|operation not permitted|\bEPERM\b/i
const NOT_FOUND = /no such file or directory|\bENOENT\b|cannot access|not a git repository|could not read Username/i

/** What a line needs that no wall shows. */
export interface Needs {
  /** It names files outside the workspace. */
  readonly outside: boolean
  /** It reports on other processes. */
  readonly processes: boolean
}

/**
 * Guesses whether the wall made the command fail. It decides what the note says and that the same line asks for a wider
 * wall next time, and nothing else.
 */
export function stoppedBy(
  { wall, exit, stderr, hiddenBy = [] }: Pick<PipeResult, 'wall' | 'stderr' | 'hiddenBy'>
    & { readonly exit: PipeResult['exits'][number] },
  needs: Needs,
): StoppedBy | undefined {
  if (wall === undefined) return undefined
  if (needs.processes) return wall
  if (exit.exitCode === 0) return undefined
  const isNetwork = NO_NETWORK.test(stderr)
  const isDenied = NOT_PERMITTED.test(stderr) || (needs.outside && NOT_FOUND.test(stderr))
  // No wall shows what a rule hides.
  const isStopped = isKilledByFilter(exit) || isNetwork || (isDenied && hiddenBy.length === 0)
  if (!isStopped) return undefined
  return wall === 'work' && isNetwork ? 'network' : wall
}

/** A sandbox reports the signal of its command as an exit code. */
const isKilledByFilter = ({ exitCode, signal }: PipeResult['exits'][number]): boolean =>
  signal === 'SIGSYS' || exitCode === 128 + constants.signals.SIGSYS

const AGAIN = 'Run the same command again to ask for'

export const STOPPED_NOTES: Readonly<Record<StoppedBy, string>> = {
  look: 'It was stopped by the look wall: it cannot write, has no network, and sees only the workspace and the system. '
    + `${AGAIN} the work wall, in which it can write to the workspace.`,
  network: `It was stopped by the work wall: it cannot reach the network. ${AGAIN} the whole network.`,
  work: 'It was stopped by the work wall: it can write to the workspace only, and sees no other files and processes. '
    + `${AGAIN} running it without a wall.`,
}

/** Whether a command failed because of a file that it could not open. */
export const lacksFile = (exit: PipeResult['exits'][number], stderr: string): boolean =>
  exit.exitCode !== 0 && (NOT_PERMITTED.test(stderr) || NOT_FOUND.test(stderr))

export const hiddenNote = (rules: readonly string[]): string =>
  `Files that the errors name are hidden from commands by ${rules.join(' and ')}. Running it again does not show them.`
