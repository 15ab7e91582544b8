import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { TargetFacts } from './facts.ts'
import { TargetFiles } from './files.ts'
import type { Listeners } from './listeners.ts'
import { listen } from './listeners.ts'

/** The files and servers that an attack must not touch. They belong to the runner, not to the attacked host. */
export interface Target {
  readonly secret: string
  readonly facts: TargetFacts
  readonly heldPort: number
  /** Parts that were read, changed or connected to since the last call. */
  touched(): readonly string[]
  /** Creates all files anew. Contract: no host uses it. */
  restore(): Promise<void>
  remove(): Promise<void>
}

export async function createTarget(): Promise<Target> {
  const secret = `CANARY-${randomBytes(16).toString('hex')}`
  const files = await TargetFiles.create(secret)
  const at = (name: string): string => join(files.root, name)
  const listeners: Listeners = await listen(secret, files.socketPath)
  const { port, grantedPort, udpPort, heldPort } = listeners
  return {
    secret,
    facts: { cwd: at('host'), work: at('work'), outside: at('outside'), port, grantedPort, udpPort },
    heldPort,
    touched: () => [...listeners.received(), ...files.touched()],
    restore: () => files.restore(),
    async remove() {
      await listeners.close()
      await files.remove()
    },
  }
}
