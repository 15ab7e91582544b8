import {
  beyond, compileCeiling, narrowPower, powerItems, SECURITY_MODES, type AgentManifest, type Ceiling, type Power,
  type PowerItem, type ScopedRule, type SecurityMode, type SetAside, type StateMachine, type Touch, type VariableValues,
} from '@bulkhead/contract'
import { additionOf, boundOf, confinementOf, type AgentBound, type AgentsRequire } from './agent-bound.ts'
import { commandSafetyOf, type CommandSafety } from './command-safety/command-safety.ts'
import { isListed } from '../model/allowlist-entry.ts'
import { roleFlag, type ModeAuthor, type Settings } from '../model/settings.ts'
import type { ToolEntry } from '../extensions/registry/tool-entry.ts'
import type { CallAnalysis } from './model/checked-call.ts'
import { inOrder, type Guard, type CallCheck } from './guards.ts'
import { LEARNING_CEILING, refuseOpen } from './learning-mode.ts'
import { questionOfMode, runsByMode } from './mode-treatment.ts'
import { policiesOf, type Policy } from './policies.ts'
import { SessionRules } from './session-rules.ts'
import { unknownTouches } from './touches.ts'
import { ceilingVerdict, deny, type CeilingSource, type Verdict } from './model/verdict.ts'

/** A change of the rules of a configuration, to see what it would do. */
export interface RuleChange {
  readonly add: readonly ScopedRule[]
  /** The sources of rules. */
  readonly remove: ReadonlySet<string>
}

/** What happens to a question when no person can be asked. */
export type Headless = 'deny' | 'halt' | 'wait'

export interface PolicySources {
  readonly mode: SecurityMode
  /** Who chose the mode. A rule of a project answers it only if no one but a project or a default did. */
  readonly modeAuthor: ModeAuthor
  readonly allowlist: readonly string[]
  /** The rules of the session; those of the configuration come from the settings. */
  readonly rules: readonly ScopedRule[]
  readonly role: string
  /** Flags of the session. They forbid like those of the configuration, and allow nothing that these forbid. */
  readonly roles: ReadonlyMap<string, boolean>
  readonly ceiling: Ceiling | undefined
  /** The agent of the session. Its rules are among `rules`. */
  readonly agent: AgentManifest | undefined
  /** What `requires` of an agent without a ceiling does. */
  readonly agentsRequire: AgentsRequire
  readonly watchdogs: readonly CallCheck[]
  readonly guards: readonly Guard[]
  readonly stateMachine: StateMachine | undefined
  readonly headless: Headless
  readonly settings: Settings
  /** The values of the variables in this session. */
  readonly variables: VariableValues
  /** Whether they differ from those that the grants of the tools were made with. */
  readonly hasOwnValues: boolean
  /** Whether a tool has this name when the session opens. */
  readonly isTool: (name: string) => boolean
  /** The policy of the session that this one is a sub-agent of. */
  readonly parent: SessionPolicy | undefined
  /** Absent: the rules are as they are written. */
  readonly changed?: RuleChange
}

const NO_CHANGE: RuleChange = { add: [], remove: new Set() }

/** What follows for a tool from the session alone, whatever the arguments. Computed once per tool. */
export interface ToolPolicy {
  readonly denied: Verdict | undefined
  /** A ceiling removes something that the tool declares: denied, unless the arguments show that they do not need it. */
  readonly lost: Verdict | undefined
  readonly floor: Verdict | undefined
  /** Everything its manifest declares, with the values of this session. */
  readonly declared: Power
  /** What the ceilings of the configuration leave of it. */
  readonly configured: Power
  /** What it may do under every ceiling: of the configuration, of this session and its agent, and of its ancestors. */
  readonly power: Power
  /** The power under each ceiling and those before it. The last one is `power`. */
  readonly ceilings: readonly CeilingStep[]
  /** Everything it may touch, as patterns. */
  readonly unknown: readonly Touch[]
}

/** What one ceiling leaves. */
export interface CeilingStep {
  readonly source: CeilingSource
  readonly power: Power
}

/**
 * The policy of one session, fixed when it opens. The policies of its ancestors apply to a sub-agent too: what one of
 * them denies or asks is denied or asked, and none can allow what another does not.
 */
export class SessionPolicy {
  /** From the root session to this one. */
  readonly lineage: readonly SessionPolicy[]
  /** The strictest of the lineage. */
  readonly mode: SecurityMode
  /** Whether a project chose the mode of this session or of an ancestor. Then it does not answer rules of others. */
  readonly isModeOfProject: boolean
  /** Whether its own mode or state machine decides gated calls. A sub-agent in yolo leaves them to its ancestors. */
  readonly gates: boolean
  readonly headless: Headless
  readonly rules: SessionRules
  readonly role: string
  /** The built-in watchdog. For a sub-agent, that of the root session runs. */
  readonly commandSafety: CommandSafety | undefined
  readonly watchdogs: readonly CallCheck[]
  readonly stateMachine: StateMachine | undefined
  /** Whether the session is in plan mode. The only part that changes while the session is open. */
  planning = false
  /** Whether this session or an ancestor has a state machine. */
  readonly isStaged: boolean
  /** In the order in which they run before a call. */
  readonly guards: readonly Guard[]
  /** Guards of results, in their order: from this session to the root. */
  readonly resultGuards: readonly Guard[]
  /** All policies, those of the root session first. */
  readonly policies: readonly Policy[]
  /**
   * What limits every tool besides its grant, as one text: the ceilings, agents and rules of the lineage, and the values
   * of variables that only this session has. undefined for nothing.
   */
  readonly confinement: string | undefined
  /** What the agent requires besides its tools, under every ceiling. */
  readonly addition: Power | undefined
  readonly #sources: PolicySources
  readonly #ceiling: Power | undefined
  /** Of the mode learn. */
  readonly #learning: Power | undefined
  /** The ceiling of the agent. */
  readonly #bound: AgentBound | undefined
  readonly #tools = new WeakMap<ToolEntry, ToolPolicy>()

  /** Throws RequirementInvalid for a pattern that cannot be compiled. */
  constructor(sources: PolicySources) {
    this.lineage = [...sources.parent?.lineage ?? [], this]
    this.mode = stricterMode(sources.mode, sources.parent?.mode)
    this.isModeOfProject = sources.modeAuthor === 'project' || sources.parent?.isModeOfProject === true
    this.gates = sources.mode !== 'yolo' || sources.parent === undefined || sources.stateMachine !== undefined
    this.headless = sources.headless
    const { parent, settings: { file, layers } } = sources
    this.role = sources.role
    this.commandSafety = parent ? undefined : commandSafetyOf(layers)
    const learns = this.mode === 'learn' && parent?.mode !== 'learn'
    this.watchdogs = learns ? [refuseOpen, ...sources.watchdogs] : sources.watchdogs
    this.stateMachine = sources.stateMachine
    this.isStaged = sources.stateMachine !== undefined || parent?.isStaged === true
    this.guards = inOrder(sources.guards, file.guards?.pre)
    this.resultGuards = [
      ...inOrder(sources.guards, file.guards?.post).filter(({ post }) => post !== undefined),
      ...parent?.resultGuards ?? [],
    ]
    const written = [...sources.settings.rules, ...sources.rules]
    const { add, remove } = sources.changed ?? NO_CHANGE
    const rules = remove.size === 0 ? [...written, ...add] : [...written.filter(({ source }) => !remove.has(source)), ...add]
    this.rules = new SessionRules(rules, sources.variables, sources.isTool)
    this.#sources = sources
    this.#ceiling = sources.ceiling && compileCeiling(sources.ceiling, sources.variables)
    this.#learning = learns ? compileCeiling(file.learn?.ceiling ?? LEARNING_CEILING, sources.variables) : undefined
    this.#bound = boundOf(sources)
    const limits = this.lineage.flatMap((policy) =>
      [policy.#bound?.power ?? [], policy.#ceiling ?? [], policy.#learning ?? []].flat())
    this.confinement = confinementOf(limits, this.lineage.flatMap((policy) => policy.rules.all), sources)
    this.addition = additionOf(limits, sources)
    this.policies = [...parent?.policies ?? [], ...policiesOf(this)]
  }

  /** The same policy with other rules. Throws RequirementInvalid for a pattern that cannot be compiled. */
  withRules(changed: RuleChange): SessionPolicy {
    const { parent } = this.#sources
    return new SessionPolicy({ ...this.#sources, changed, parent: parent?.withRules(changed) })
  }

  forTool(tool: ToolEntry): ToolPolicy {
    const known = this.#tools.get(tool)
    if (known) return known
    const above = this.#sources.parent?.forTool(tool)
    const { declared, configured, ceilings: outer } = above ?? this.#configured(tool)
    const ceilings = this.#narrowed(outer, above?.power ?? configured)
    const power = ceilings.at(-1)?.power ?? configured
    const policy: ToolPolicy = {
      denied: above?.denied ?? beyondOf(tool, configured, ceilings) ?? this.#role(tool),
      lost: lostOf(declared, ceilings),
      declared,
      configured,
      power,
      ceilings,
      floor: questionOfMode(tool.definition.mode, this.#sources.settings.treatments),
      unknown: unknownTouches(power),
    }
    this.#tools.set(tool, policy)
    return policy
  }

  /** What the rules of this session decide, or undefined. */
  evaluateRules(tool: ToolEntry, analysis: CallAnalysis): Verdict | undefined {
    return this.rules.evaluate(tool, this.forTool(tool).unknown, analysis)
  }

  runsByMode(tool: ToolEntry, analysis: CallAnalysis): Verdict | undefined {
    return runsByMode(tool, analysis, this.#sources.settings.treatments)
  }

  /** The rules that deny or ask, and that a call may meet only while it runs. */
  possibleRules(tool: ToolEntry, analysis: CallAnalysis): readonly ScopedRule[] {
    return this.rules.possible(tool, this.forTool(tool).unknown, analysis)
  }

  /** The rules that say nothing about what a call uses. */
  setAside(tool: ToolEntry, analysis: CallAnalysis): SetAside {
    return this.rules.setAside(tool, this.forTool(tool).unknown, analysis)
  }

  /**
   * Whether rules that allow the call answer what the mode asks: without those of a project, if the mode was written or
   * a command would run without a wall.
   */
  answersMode(tool: ToolEntry, analysis: CallAnalysis): boolean {
    const isStrict = this.#sources.modeAuthor === 'written' || analysis.wall?.wall === 'open'
    return !isStrict || this.rules.evaluate(tool, this.forTool(tool).unknown, analysis, false)?.action === 'allow'
  }

  /** In allowlist mode. Entries of a project need a wall. */
  allowlisted(tool: ToolEntry, { subjects, wall }: CallAnalysis): boolean {
    const { allowlist, settings } = this.#sources
    const entries = wall?.wall === 'open' ? settings.allowlist(true) : allowlist
    return this.mode === 'allowlist' && subjects.every(({ key, plain = key }) =>
      entries.some((entry) => isListed(entry, tool, plain) || isListed(entry, tool, key)))
  }

  /** What the configuration leaves to a tool. Compiled again only if the variables have other values here. */
  #configured(tool: ToolEntry): Pick<ToolPolicy, 'declared' | 'configured' | 'ceilings'> {
    const { hasOwnValues, variables } = this.#sources
    const { declared, grant, ceilings } = hasOwnValues ? tool.powersWith(variables) : tool
    return { declared, configured: grant, ceilings }
  }

  /** The agent and the ceiling of this session, after those that apply already and leave `left`. */
  #narrowed(outer: readonly CeilingStep[], left: Power): readonly CeilingStep[] {
    const steps = [...outer]
    const narrow = (source: CeilingSource, ceilingFor: (power: Power) => Power): void => {
      const { power } = steps.at(-1) ?? { power: left }
      steps.push({ source, power: narrowPower(power, ceilingFor(power)) })
    }
    const bound = this.#bound
    // Requirements name no variables, secrets and state, so a tool keeps its own.
    if (bound) narrow(bound.source, ({ env, secrets, state }) => ({ ...bound.power, env, secrets, state }))
    const ceiling = this.#ceiling
    if (ceiling) narrow('ceiling of the session', () => ceiling)
    const learning = this.#learning
    if (learning) narrow('ceiling of the mode learn', () => learning)
    return steps
  }

  #role(tool: ToolEntry): Verdict | undefined {
    const { settings, role, roles } = this.#sources
    const own = roleFlag(roles, tool.name, role)
    const flag = own?.allowed === false ? `${own.name} of the session` : settings.forbiddingFlag(tool.name, role)
    return flag === undefined ? undefined : deny('role', 'RoleDenied', `flag ${flag}`, `the flag ${flag} is off`)
  }
}

/** A server cannot be confined, so one that can do more than a ceiling allows is denied. */
function beyondOf(tool: ToolEntry, configured: Power, ceilings: readonly CeilingStep[]): Verdict | undefined {
  if (!tool.extension.descriptor.server) return undefined
  for (const { source, power } of ceilings) {
    const more = beyond(configured, power)
    if (more.length > 0) return ceilingVerdict(more, source)
  }
  return undefined
}

function lostOf(declared: Power, ceilings: readonly CeilingStep[]): Verdict | undefined {
  for (const { source, power } of ceilings) {
    const lost = lostKinds(declared, power)
    if (lost.length > 0) return ceilingVerdict(lost, source)
  }
  return undefined
}

/**
 * The items of a power whose kind another power lacks. Variables, secrets and state are declared for a whole extension,
 * and which of its tools needs them is not known, so they do not count.
 */
function lostKinds(power: Power, left: Power): readonly PowerItem[] {
  const kept = new Set(powerItems(left).map(kindOf))
  return powerItems(power).filter((item) => !OF_EXTENSION.has(item.kind) && !kept.has(kindOf(item)))
}

const OF_EXTENSION: ReadonlySet<PowerItem['kind']> = new Set(['env', 'secret', 'state'])

/** Each capability is a kind of its own. */
const kindOf = ({ kind, subject }: PowerItem): string => kind === 'capability' ? `${kind} ${subject}` : kind

/** `other`: undefined for none. */
export const stricterMode = (mode: SecurityMode, other: SecurityMode = mode): SecurityMode =>
  SECURITY_MODES.find((each) => each === mode || each === other) ?? 'ask'
