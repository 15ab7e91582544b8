import { obstacleOf, type Diagnostic, type RuleAuthor, type ScopedRule } from '@bulkhead/contract'
import { visibleText } from '@bulkhead/kit/text'

/** More rules are not compared with each other, which would take too long. */
const MOST_RULES = 300

const LAYERS: Readonly<Record<RuleAuthor, Diagnostic['layer']>> =
  { bundled: 'bundled', embedder: 'bundled', machine: 'bundled', user: 'global', project: 'project' }

/** Rules that can never decide, because another one always does. */
export function idleRules(rules: readonly ScopedRule[]): readonly Diagnostic[] {
  if (rules.length > MOST_RULES) return []
  return rules.flatMap((rule): readonly Diagnostic[] => {
    const other = obstacleOf(rule, rules)
    if (other === undefined) return []
    const [location = '', path = ''] = rule.source.split(/#(?=\/rules\/\d+$)/)
    const [own, stronger] = [rule, other]
      .map(({ permission, pattern, action }) => visibleText(`${permission} ${pattern} ${action}`))
    return [{
      severity: 'warning', stage: 'configSchema', code: 'ConfigInvalid', layer: LAYERS[rule.author], extensionId: null,
      location, path,
      message: `The rule "${own}" never decides: "${stronger}" of ${other.source} matches everything that it matches.`,
      cure: rule.action === other.action ? 'Remove one of them.'
        : 'Give it a narrower pattern or permission, if its author may loosen the other, or remove it.',
    }]
  })
}
