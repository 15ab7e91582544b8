/** `GET api/health`, and the event `health` every few seconds while it is watched. */
export interface HealthView {
  readonly at: number
  readonly hosts: readonly HostHealth[]
  readonly processes: readonly ProcessHealth[]
  readonly servers: readonly ServerHealth[]
  readonly walls: readonly WallItem[]
  /** All walls in one line. */
  readonly wallLine: string
  readonly audit: AuditHealth
  readonly series: HealthSeries
  readonly frozen?: { readonly since: number; readonly by: string; readonly reason?: string }
  readonly problems: readonly string[]
}

/** A process or replica on the store. */
export interface HostHealth {
  readonly id: string
  readonly machine: string
  readonly pid: number
  readonly version: string
  readonly workspace: string
  readonly state: 'live' | 'silent' | 'gone'
  readonly since: number
  readonly silentMs: number
  readonly sessions: number
  readonly questions: number
  readonly calls: number
  /** Whether the inspector runs in it. */
  readonly here: boolean
  /** Hosts of one folder with different rules decide differently. */
  readonly rules: string
  readonly rulesDiffer: boolean
  /** Of its process. Other hosts say it every ten seconds, if they share a store that outlives them. */
  readonly memoryBytes?: number
  readonly cpuShare?: number
  /** How often compartments of it started again after they had failed. */
  readonly restarts?: number
  /** The walls that stand on its machine, once one was needed. */
  readonly walls?: readonly string[]
  /** For how long its thread was too busy to serve calls, at most. */
  readonly lagMs?: number
}

/** A compartment, or the process of one. */
export interface ProcessHealth {
  readonly extension: string
  readonly version: string
  readonly layer: string
  readonly placement: 'inline' | 'thread' | 'process'
  readonly state: string
  readonly calls: number
  /** How often it started again after it had failed. */
  readonly restarts: number
  /** Absent if it has no process, or several. */
  readonly pid?: number
  /** Of its processes and threads. A compartment in the thread of the host is counted with the host. */
  readonly memoryBytes?: number
  /** 0 to 1 for each core, since the view before. */
  readonly cpuShare?: number
  readonly walls: readonly string[]
  readonly fault?: string
}

export interface ServerHealth {
  readonly name: string
  readonly address: string
  /** unknown, known, connecting, connected or unavailable; "of another process" for one that only others have. */
  readonly state: string
  readonly pid?: number
  readonly memoryBytes?: number
  readonly cpuShare?: number
  /** How often it connected again after the connection was lost. */
  readonly restarts: number
  readonly walls: readonly string[]
  readonly fault?: string
  /** Whether its messages can be watched: the topic `frames:NAME`. */
  readonly frames: boolean
}

export interface WallItem {
  readonly name: string
  /** process, commands or servers. */
  readonly around: string
  readonly stands: boolean
  readonly reason?: string
  readonly cost: string
  readonly cure: string
}

export interface AuditHealth {
  /**
   * off: nothing is recorded. lost: records were lost. broken: a record was changed, removed or moved. checked: each chain
   * was verified up to a record. on: that is not done yet. While health is read, a part is verified each second.
   */
  readonly status: 'on' | 'off' | 'lost' | 'checked' | 'broken'
  readonly words: string
  readonly chains: readonly AuditChainItem[]
}

export interface AuditChainItem {
  readonly name: string
  readonly first: number
  readonly last: number
  readonly link: string
  /** The last record that was verified, and when. */
  readonly checked?: { readonly last: number; readonly at: number }
  /** The first record that does not continue the chain. */
  readonly broken?: { readonly position: number; readonly reason: string; readonly at: number }
}

/** Points of equal length, oldest first. The last one is not over. */
export interface HealthSeries {
  readonly pointMs: number
  readonly from: number
  readonly calls: readonly number[]
  readonly failed: readonly number[]
  /** null: no call ended. Without the time in which people were asked. */
  readonly p50Ms: readonly (number | null)[]
  readonly p95Ms: readonly (number | null)[]
}

/** A message of an MCP server, redacted and cut. */
export interface Frame {
  /** In the order of all messages of the server in that process, also those that were not watched. */
  readonly seq: number
  readonly at: number
  readonly server: string
  /** Absent: of the process of the inspector. Others send theirs only while capture is on, about two seconds later. */
  readonly host?: string
  /** in: from the server. */
  readonly direction: 'in' | 'out'
  readonly text: string
  readonly bytes: number
  readonly cut: boolean
}
