import { ANY_COMMAND, type ArgPattern, type ShellRequirement } from './requirements.ts'

/** Whether every command that `narrow` allows is allowed by `wide`. */
export function shellCovers(wide: ShellRequirement, narrow: ShellRequirement): boolean {
  if (wide.cmd !== narrow.cmd && wide.cmd !== ANY_COMMAND) return false
  const [wideArgs, wideOpen] = fixedArguments(wide)
  const [narrowArgs, narrowOpen] = fixedArguments(narrow)
  if (wideOpen ? narrowArgs.length < wideArgs.length : narrowOpen || narrowArgs.length !== wideArgs.length) return false
  return wideArgs.every((pattern, index) => argCovers(pattern, narrowArgs[index]!))
}

/** Whether some command could match both. */
export function commandsOverlap(a: ShellRequirement, b: ShellRequirement): boolean {
  if (a.cmd !== b.cmd && a.cmd !== ANY_COMMAND && b.cmd !== ANY_COMMAND) return false
  const [aArgs, aOpen] = fixedArguments(a)
  const [bArgs, bOpen] = fixedArguments(b)
  if ((!aOpen && bArgs.length > aArgs.length) || (!bOpen && aArgs.length > bArgs.length)) return false
  return aArgs.slice(0, bArgs.length).every((pattern, index) => argCovers(pattern, bArgs[index]!) || argCovers(bArgs[index]!, pattern))
}

/** A command as a pattern: `*` stands for what is left open. */
export const commandText = ({ cmd, args = [] }: ShellRequirement): string => [cmd, ...args.map(argumentText)].join(' ')

function argumentText(arg: ArgPattern): string {
  if (typeof arg === 'string') return arg
  return 'prefix' in arg ? `${arg.prefix}*` : 'rest' in arg ? '…' : '*'
}

/** Those of a fixed place, and whether any number may follow them. */
function fixedArguments({ args = [] }: ShellRequirement): readonly [fixed: readonly ArgPattern[], open: boolean] {
  const last = args.at(-1)
  return typeof last === 'object' && 'rest' in last ? [args.slice(0, -1), true] : [args, false]
}

function argCovers(wide: ArgPattern, narrow: ArgPattern): boolean {
  if (typeof wide === 'string') return wide === narrow
  if (!('prefix' in wide)) return true
  if (typeof narrow === 'string') return narrow.startsWith(wide.prefix)
  return 'prefix' in narrow && narrow.prefix.startsWith(wide.prefix)
}
