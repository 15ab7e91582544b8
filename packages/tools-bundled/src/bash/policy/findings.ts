import type { ArgumentsReading, CallNeed, CallSubject } from '@bulkhead/contract'
import type { Word } from '../parse/plan.ts'
import { baseName } from './wrappers.ts'

/** Commands analyzed per call, including nested ones. */
const MAX_COMMANDS = 300

/** Collects the results of analyzing a command. */
export class Findings {
  readonly #subjects = new Map<string, Set<string>>()
  readonly #asks = new Map<string, boolean>()
  readonly #touches = new Set<string>()
  readonly #denies = new Set<string>()
  readonly #needs = new Map<string, CallNeed>()
  #commands = 0

  /** Counts a command. Returns false once the limit is reached; earlier findings stay valid. */
  countCommand(): boolean {
    return ++this.#commands <= MAX_COMMANDS
  }

  subject(key: string, names: readonly string[]): void {
    const known = this.#subjects.get(key) ?? new Set()
    for (const name of names) if (name !== key) known.add(name)
    this.#subjects.set(key, known)
  }

  /** `fresh`: earlier approvals do not apply. */
  ask(reason: string, fresh = false): void {
    this.#asks.set(reason, fresh || this.#asks.get(reason) === true)
  }

  /** A line for the approval prompt. */
  touch(line: string): void {
    this.#touches.add(line)
  }

  deny(reason: string): void {
    this.#denies.add(reason)
  }

  /** A capability that the command requires. */
  need(need: CallNeed): void {
    this.#needs.set(JSON.stringify(need), need)
  }

  reading(key: string): ArgumentsReading {
    return {
      key,
      subjects: [...this.#subjects].map(([subject, names]): CallSubject => ({ key: subject, names: [...names] })),
      touches: [...this.#touches],
      asks: [...this.#asks].map(([reason, fresh]) => ({ reason, fresh })),
      denies: [...this.#denies],
      needs: [...this.#needs.values()],
    }
  }
}

/** System and home folders. */
const SYSTEM_FOLDERS = new RegExp(`^(?:${[
  '/\\*?',
  '/(?:bin|boot|dev|etc|home|lib|lib64|opt|proc|root|sbin|srv|sys|usr|var|Users|System|Library)(?:/\\*?)?',
  '(?:~|"?\\$\\{?HOME\\}?"?)(?:/\\*?)?',
].join('|')})$`)
const DEVICE = /^\/dev\/(?:sd|hd|vd|xvd|nvme|mmcblk|disk|mapper|mem|kmem)/

const has = (args: readonly string[], long: string, letter: string): boolean =>
  args.some((arg) => arg === long || (/^-[A-Za-z]+$/.test(arg) && arg.toLowerCase().includes(letter)))

type Rule = (args: readonly string[]) => string | undefined

const destroysFolder: Rule = (args) => {
  const folder = args.find((arg) => SYSTEM_FOLDERS.test(arg.replaceAll(/\/(?:\.?\/)+/g, '/')))
  return folder !== undefined && has(args, '--recursive', 'r') ? `it would change everything in ${folder}` : undefined
}
const overwrites: Rule = (args) =>
  args.some((arg) => DEVICE.test(arg.replace(/^of=/, ''))) ? 'it would overwrite a disk' : undefined
const endsMachine: Rule = () => 'it would shut down this machine'
const formats: Rule = () => 'it would format a disk'

/** Destructive commands, which are always denied. */
const RULES: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ['rm', destroysFolder], ['chmod', destroysFolder], ['chown', destroysFolder], ['chgrp', destroysFolder],
  ['dd', overwrites], ['shred', overwrites],
  ['mkfs', formats], ['mkswap', formats], ['wipefs', formats],
  ['shutdown', endsMachine], ['reboot', endsMachine], ['halt', endsMachine], ['poweroff', endsMachine],
])

export function destructionReason([program, ...args]: readonly Word[]): string | undefined {
  const name = baseName(program?.text ?? '')
  const rule = RULES.get(name) ?? (name.startsWith('mkfs.') ? formats : undefined)
  return rule?.(args.map(({ text }) => text))
}

/** Detects `:(){ :|:& };:`. All repetitions are bounded, because the input is untrusted. */
export function isForkBomb(text: string): boolean {
  for (const [whole, name] of text.matchAll(/([\w:.]{1,32})\s{0,8}\(\s{0,8}\)\s{0,8}\{[^}]{0,256}/g)) {
    const body = whole.slice(whole.indexOf('{')).replaceAll(/\s/g, '')
    if (body.includes(`${name}|${name}&`)) return true
  }
  return false
}

export const overwritesDevice = (path: string): boolean => DEVICE.test(path)
