import { besideRelay } from '../net/inner-relay.ts'
import { openRelay } from '../net/relay.ts'
import type { Argv } from './command-environment.ts'

/** The way of a command to its hosts. */
export interface CommandRelay {
  /** On the host. */
  readonly folder: string
  /** Before the command with these descriptors, behind the wall. */
  command(descriptors: readonly number[]): Argv
  readonly refused: ReadonlySet<string>
  close(): Promise<void>
}

/** `ceilings`: each must cover a host, too. */
export async function openCommandRelay(
  hosts: readonly string[], ceilings: readonly (readonly string[])[] = [],
): Promise<CommandRelay> {
  const refused = new Set<string>()
  const { folder, close } = await openRelay({ hosts, ceilings, onRefused: (host) => void refused.add(host) })
  return { folder, command: (descriptors) => besideRelay([], hosts, descriptors), refused, close }
}
