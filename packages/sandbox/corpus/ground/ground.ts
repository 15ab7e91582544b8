import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { GroundFacts } from './facts.ts'
import { GroundFiles } from './files.ts'
import type { Listeners } from './listeners.ts'
import { listen } from './listeners.ts'

/** Everything around an attack that it must not touch, owned by the runner and not by the host under attack. */
export interface Ground {
  readonly secret: string
  readonly facts: GroundFacts
  readonly heldPort: number
  /** What was touched, read or reached since the last look. */
  touched(): Promise<readonly string[]>
  /** Makes it as it was, out of new files. Contract: no host stands on it. */
  restore(): Promise<void>
  remove(): Promise<void>
}

export async function layGround(): Promise<Ground> {
  const secret = `CANARY-${randomBytes(16).toString('hex')}`
  const files = await GroundFiles.lay(secret)
  const at = (name: string): string => join(files.root, name)
  const listeners: Listeners = await listen(secret, files.socketPath)
  const { port, grantedPort, udpPort, heldPort } = listeners
  return {
    secret,
    facts: { cwd: at('host'), work: at('work'), outside: at('outside'), port, grantedPort, udpPort },
    heldPort,
    touched: async () => [...listeners.heard(), ...await files.touched()],
    restore: () => files.restore(),
    async remove() {
      await listeners.close()
      await files.remove()
    },
  }
}
