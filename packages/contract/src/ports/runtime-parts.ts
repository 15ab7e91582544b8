/** The parts of `runtime` that a tool can be given. The broker checks each use again. */
export type RuntimePart =
  | 'fs.read' | 'fs.write' | 'net' | 'shell' | 'env' | 'secrets' | 'state' | 'interact' | 'tools' | 'session'

/** One use of a power that the grant of a tool covers. */
export interface CapabilityUse {
  readonly tool: string
  readonly part: RuntimePart
  /** The path, the method and URL, the command line, or the name of what was used. */
  readonly subject: string
}

/** One use while a call runs, after it ended. */
export interface MeasuredUse extends CapabilityUse {
  readonly ms: number
  /** How long ago it ended. Absent: now. */
  readonly agoMs?: number
  readonly failed: boolean
  readonly readBytes: number
  readonly writtenBytes: number
}

/** For running code that is not trusted yet: uses are recorded, no request leaves the machine, and no command runs. */
export interface DryRun {
  /** Contract: must not throw. */
  used(use: CapabilityUse): void
  /** The port of an HTTP server on the loopback interface. It answers for every host, also for https. */
  readonly port: number
  /** What a command would put out. Absent or undefined: it succeeds without output. Contract: must not throw. */
  readonly command?: (cmd: string, args: readonly string[]) => CommandAnswer | undefined
}

/** What a command puts out that is not run. */
export interface CommandAnswer {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

/**
 * What a compartment may request of the broker, each with the part of `runtime` it belongs to. `null`: every call may.
 */
export const BROKER_METHODS = {
  'fs.read': 'fs.read',
  'fs.list': 'fs.read',
  'fs.stat': 'fs.read',
  'fs.glob': 'fs.read',
  'fs.find': 'fs.read',
  'fs.search': 'fs.read',
  'fs.watch': 'fs.read',
  'fs.watch.next': 'fs.read',
  'fs.write': 'fs.write',
  'fs.edit': 'fs.write',
  'fs.apply': 'fs.write',
  'fs.remove': 'fs.write',
  'fs.undo': 'fs.write',
  'net.fetch': 'net',
  'net.read': 'net',
  'shell.run': 'shell',
  'shell.pipe': 'shell',
  'env.get': 'env',
  'secrets.handle': 'secrets',
  'state.read': 'state',
  'state.write': 'state',
  'interact': 'interact',
  'tools.call': 'tools',
  'session.read': 'session',
  'session.write': 'session',
  'step.begin': null,
  'step.end': null,
  'progress': null,
  'update': null,
  'log': null,
} as const satisfies Record<string, RuntimePart | null>
export type BrokerMethod = keyof typeof BROKER_METHODS
