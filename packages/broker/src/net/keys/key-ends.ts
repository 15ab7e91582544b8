import { writeFile } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import type { KeyGrant, KeyUse } from '@bulkhead/contract'
import type { HostAllowList, Target } from '../../hosts/url-policy.ts'
import { DecoderMemory } from '../response-body.ts'
import { createAuthority } from './authority.ts'
import { openKeyEnd, type KeyEnd } from './key-end.ts'
import { authorityOf, KeyRing } from './key-ring.ts'
import { trustFiles, trustVariables } from './trust.ts'

export interface KeyEndsOptions {
  readonly grants: readonly KeyGrant[]
  readonly scope: HostAllowList
  /** Connects over TLS, with the usual checks of address and certificate. */
  readonly connect: (target: Target) => Promise<Socket>
  /** Gets a line, at most once for each. Must not throw. */
  readonly report: (line: string) => void
  /** Must not throw. */
  readonly onUse: (use: KeyUse) => void
  /** Gets the files with the authority. */
  readonly folder: string
}

/** Where TLS ends for the hosts of keys. No other connection is opened. */
export interface KeyEnds {
  readonly ring: KeyRing
  variables(folder: string): Readonly<Record<string, string>>
  /** undefined if no key is for this host and port. */
  endFor(target: Target): KeyEnd | undefined
  close(): void
}

/** Of one process. */
const DECODER_BYTES = 64 * 1024 * 1024
/** A process that sends placeholders to many places must not fill the log. */
const MOST_REFUSED = 20

export async function openKeyEnds(
  { grants, scope, connect, report, onUse, folder }: KeyEndsOptions,
): Promise<KeyEnds> {
  const refusals = new Set<string>()
  const reported = new Set<string>()
  const once = (line: string): void => {
    if (reported.has(line) || reported.size >= MOST_REFUSED) return
    reported.add(line)
    report(line)
  }
  const ring = new KeyRing(grants, (use) => {
    if (use.refused === undefined) return onUse(use)
    const what = `The placeholder of the key ${use.key} was sent ${use.refused}`
    if (refusals.has(what) || refusals.size >= MOST_REFUSED) return
    refusals.add(what)
    onUse(use)
    report(`${what} (${use.method} ${use.host}${use.path}). It is worthless there: the key was not sent.`)
  })
  const names = ring.hosts.map((host) => host.split(':')[0]!)
  const authority = createAuthority([...new Set(names)])
  for (const [name, content] of trustFiles(authority.certificate)) await writeFile(join(folder, name), content)
  const decoders = new DecoderMemory(DECODER_BYTES)
  const ends = new Map(ring.hosts.map((host) =>
    [host, openKeyEnd({ host, scope, keys: ring, authority, connect, decoders, report: once })]))
  return {
    ring,
    variables: (inside) => ({ ...trustVariables(inside), ...ring.placeholders }),
    endFor: (target) => ends.get(authorityOf(target)),
    close: () => ends.forEach((end) => end.close()),
  }
}
