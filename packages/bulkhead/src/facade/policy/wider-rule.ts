import { dirname } from 'node:path'
import type { Rule } from '@bulkhead/contract'

/** Programs of which the second word says what they do, so that a rule may name both. */
const WITH_ACTIONS: ReadonlySet<string> =
  new Set(['git', 'npm', 'pnpm', 'yarn', 'cargo', 'go', 'make', 'dotnet', 'gradle', 'mvn'])

/** One step wider: the folder of a file, or all forms of one action of a program. undefined where there is none. */
export function widerRule(rule: Rule, isPath = rule.pattern.startsWith('/') && !/\s/.test(rule.pattern)): Rule | undefined {
  const pattern = widerPattern(rule, isPath)
  return pattern === undefined ? undefined : { ...rule, pattern }
}

function widerPattern({ pattern }: Rule, isPath: boolean): string | undefined {
  if (pattern.includes('*')) return undefined
  if (isPath) {
    const folder = dirname(pattern)
    return folder === '/' || folder === '.' ? undefined : `${folder}/**`
  }
  // The host marks some keys, such as "[effects] git add a".
  const [, mark = '', command = ''] = /^((?:\[[a-z]+\] )?)(.*)$/s.exec(pattern) ?? []
  const [program = '', action, ...rest] = command.split(' ')
  if (!WITH_ACTIONS.has(program) || action === undefined || rest.length === 0 || /[;&|<>`$()]/.test(command)) return undefined
  return `${mark}${program} ${action} *`
}

/** What a wider rule allows, as the end of a sentence. */
export const widerWords = ({ permission, pattern }: Rule): string => pattern.endsWith('/**')
  ? `every call of ${permission} for ${pattern.slice(0, -3)} and everything in it`
  : `every command of ${permission} that matches "${pattern}"`
