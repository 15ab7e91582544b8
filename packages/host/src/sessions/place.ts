import type { CommandVariable, EventOf, IgnoredFiles, KeyUse, LoadReport, Sandbox } from '@bulkhead/contract'
import type { ReportSource } from '../extensions/reload/report.ts'
import type { CountFiles } from '../policy/approvals/offers.ts'
import type { FoundRoot } from './roots.ts'

/** What a host works on: a folder, the extensions of the folder and of all folders, and a sandbox. */
export interface Place {
  /** The report of a loader: configuration, verified extensions, and what it disabled. */
  readonly report: LoadReport
  /** The canonical path of {workspace}. */
  readonly workspace: string
  readonly sandbox: Sandbox
  /** Where `reload` looks, and what triggers it. */
  readonly source?: ReportSource
  /**
   * Canonical paths that the sandbox does not let any tool write, as `ProtectedPlaces` takes them: the host's code, the
   * project layer and the files of the store.
   */
  readonly neverWritten?: readonly string[]
  /**
   * A path with its links followed, as far as it exists. Without it, rules evaluate calls that name files by the full
   * power of their tool. A throw counts as unknown.
   */
  readonly realPath?: (path: string) => string
  /** The beginning of a file in the workspace: settings that name the hosts of a command. Without it none are read. */
  readonly readStart?: (path: string) => string | undefined
  /** What ignore files in these canonical folders exclude now. The same object until one changes. Default: nothing. */
  readonly ignored?: (roots: readonly string[]) => IgnoredFiles | undefined
  /** For questions about a folder. Without it they do not say how many files it has. */
  readonly countFiles?: CountFiles
  /**
   * A folder or file beside the workspace that a session wants, with its links followed. Throws if it does not exist or
   * belongs to the host. Without it sessions work in the workspace only.
   */
  readonly findRoot?: (path: string) => FoundRoot
  /** The environment variables that the sandbox gives to commands of tools that may run any. For `explain`. */
  readonly commandVariables?: readonly CommandVariable[]
  /** Calls back when a server of this place could not be started or reached, and for each use of a key. */
  readonly watchServers?: (
    onFault: (fault: ServerFault) => void, onKeyUse: (use: KeyUse & { readonly extensionId: string }) => void,
  ) => void
}

export type ServerFault = Omit<EventOf<'ServerStartFailed'>, 'type' | 'at'>
