import { hostOfKey, type KeyGrant, type KeyUse } from '@bulkhead/contract'
import { hostMatches } from '@bulkhead/kit/hosts'
import { besideRelay } from '../net/inner-relay.ts'
import { openRelay, type Relay, type RelayOptions } from '../net/relay.ts'
import type { Argv } from './command-environment.ts'

/** Keys that a command uses and does not get. */
export interface CommandKeys {
  /** Those whose hosts are not granted are left out. */
  readonly keys: readonly KeyGrant[]
  /** Must not throw. */
  readonly onKeyUse?: ((use: KeyUse) => void) | undefined
}

/** The way of a command to its hosts. */
export interface CommandRelay extends Relay {
  /** Before the command with these descriptors, behind the wall. */
  command(descriptors: readonly number[]): Argv
  /** What was refused so far, a line each. */
  readonly refused: ReadonlySet<string>
  /** Whether the command needs the folder, for the certificate of its keys. */
  readonly hasKeys: boolean
}

export interface CommandRelayOptions {
  /** Each must cover a host, too. */
  readonly ceilings?: readonly (readonly string[])[] | undefined
  readonly keys?: CommandKeys | undefined
  /** The rule that denies a host, as the subject of a sentence. */
  readonly deniedHost?: ((host: string) => string | undefined) | undefined
}

export async function openCommandRelay(
  hosts: readonly string[], { ceilings = [], keys: given = { keys: [] }, deniedHost }: CommandRelayOptions = {},
): Promise<CommandRelay> {
  const refused = new Set<string>()
  const keys = given.keys.filter((key) => [hosts, ...ceilings].every((layer) => hostMatches(layer, hostOfKey(key))))
  const { onKeyUse } = given
  const options: RelayOptions = {
    hosts, ceilings, keys, onKeyFault: (line) => void refused.add(line), ...(onKeyUse && { onKeyUse }),
    ...(deniedHost && { isDenied: (host: string) => deniedHost(host) !== undefined }),
    onRefused: (host) => void refused.add(
      `The wall around the command refused a connection to ${host}: `
        + `${deniedHost?.(host)?.concat(' denies it') ?? 'this host was not granted, or is not public'}.`,
    ),
  }
  return { ...await openRelay(options), command: (descriptors) => besideRelay([], hosts, descriptors), refused, hasKeys: keys.length > 0 }
}
