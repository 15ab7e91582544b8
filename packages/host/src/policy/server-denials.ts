import {
  denyingRule, isCapability, isOfCalls, judgeUse, type DeniedPaths, type IgnoredFiles, type ResolvedConfig,
  type ScopedRule, type VariableValues,
} from '@bulkhead/contract'
import { textsOverlap } from '@bulkhead/kit/glob'
import { configuredRules } from '../model/settings.ts'
import { SessionRules } from './session-rules.ts'
import { ruleName } from './model/verdict.ts'

/** All tools of a server, as one. */
const TOOL = 'server'

export interface ServerDenials {
  readonly config: ResolvedConfig
  readonly variables: VariableValues
  /** The names of its tools, as patterns. */
  readonly tools: readonly string[]
  readonly ignored: IgnoredFiles | undefined
}

/**
 * The paths that the configuration denies to a local server. It starts once for all sessions, so what is denied to one of
 * its tools is denied to all. undefined for nothing.
 */
export function deniedToServer({ config, variables, tools, ignored }: ServerDenials): DeniedPaths | undefined {
  const { all } = new SessionRules(configuredRules(config), variables, () => false)
  const isWide = ({ permission }: ScopedRule): boolean => isCapability(permission) || permission === '*'
  const wide = all.filter(isWide)
  const own = all.filter((rule) => !isWide(rule) && tools.some((name) => textsOverlap(rule.permission, name)))
    .map((rule) => ({ ...rule, permission: TOOL, written: rule.permission }))
  // A rule about calls decides before each of them. It hides files only if it denies every call of the server.
  const isClosed = denyingRule([...wide, ...own.filter(({ action }) => action !== 'deny')], { tool: TOOL }) !== undefined
  const rules = [
    ...wide.filter((rule) => isClosed || !isOfCalls(rule)),
    ...own.filter((rule) => rule.action === 'deny' && !isOfCalls(rule)),
  ]
  const denies = rules.filter(({ permission, action }) => action === 'deny' && !/^(?:net|shell)\./.test(permission))
  const [rule = ignored?.files[0]?.path] = denies.map(ruleName)
  if (rule === undefined) return undefined
  return {
    rule,
    // A server sees its grant only.
    places: [],
    hasExceptions: rules.some(({ permission, action }) => action === 'allow' && !/^(?:net|shell)\./.test(permission)),
    ruleFor(capability, subject) {
      const line = ignored?.lineFor(capability, subject)
      const verdict = line === undefined ? judgeUse(rules, { tool: TOOL, capability, subject }) : undefined
      return line ?? (verdict?.action === 'deny' ? ruleName(verdict.rule) : undefined)
    },
  }
}
