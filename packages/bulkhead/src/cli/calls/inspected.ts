import { CALL_LIMITS, type ExtensionDescriptor } from '@bulkhead/contract'
import type { Inspection } from '@bulkhead/sandbox'

const WARNING = 'The tool runs with a debugger: in a process of its own with a socket on the loopback interface, without '
  + 'a network namespace and without a system call filter. Every program of this machine that connects to it can run code '
  + 'in the tool. Installed tools run as always.'

/** Debuggers of `dev --inspect`. */
export class Inspected implements Inspection {
  /** A person may stop the code anywhere. */
  readonly patience = { timeoutMs: CALL_LIMITS.maxTimeoutMs } as const
  #say: (text: string) => void = () => undefined

  /** Says what is different, and from now on each address. */
  tell(say: (text: string) => void): void {
    this.#say = say
    say(WARNING)
  }

  onListening(address: string): void {
    this.#say(`Debugger listening on ${address}\n  Open chrome://inspect, or attach your editor to that port.`)
  }
}

/** Starts without a call, so that breakpoints can be set before the first one. */
export const startedAtOnce = ({ manifest, ...rest }: ExtensionDescriptor): ExtensionDescriptor =>
  ({ ...rest, manifest: { ...manifest, discoveryRules: { ...manifest.discoveryRules, activation: 'eager' } } })
