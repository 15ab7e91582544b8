import type { ApprovalItem, AskedOften, OtherCalls, PolicyFinding, PolicyView, RuleItem } from '../../protocol.ts'
import { clock, duration, plural, shown, when } from '../model/words.ts'
import { useLoaded } from '../parts/hooks.ts'
import { Empty, Lines, RuleText } from '../parts/texts.tsx'
import { Figure } from './tools.tsx'
import { TryCallForm } from './try-call.tsx'

/** What asks people, what would have avoided it, and every rule with its place. */
export function PolicyPage() {
  const { view, fault } = useLoaded<PolicyView>('policy', 'policy')
  if (fault !== undefined)
    return (
      <Empty title="The policy could not be read">
        <p>{fault}</p>
      </Empty>
    )
  if (view === undefined) return <Empty title="Reading…" />
  const { calls, questions, questionsPer100, waitedMinutes, span } = view.headline
  return (
    <div class="wide views-grid">
      <div class="figures">
        <Figure
          value={questionsPer100.toLocaleString('en', { maximumFractionDigits: 1 })}
          words="questions per 100 calls"
        />
        <Figure
          value={`${waitedMinutes} min`}
          words="agents waited for people"
        />
        <Figure
          value={`${questions.toLocaleString('en')} of ${calls.toLocaleString('en')}`}
          words={`calls asked, ${shown(span)}`}
        />
        <Figure value={shown(view.mode)} words="mode of gated calls" />
      </div>
      <TryCallForm />
      {view.questions.length > 0 && <Questions of={view.questions} />}
      {view.findings.length > 0 && <Findings of={view.findings} />}
      <Rules of={view.rules} />
      {view.approvals.length > 0 && <Approvals of={view.approvals} />}
    </div>
  )
}

const Questions = ({ of }: { of: readonly AskedOften[] }) => (
  <section class="panel">
    <header>
      <h2>What asked, and the smallest rule that would have avoided it</h2>
    </header>
    <table class="folds">
      <thead>
        <tr>
          <th>Question</th>
          <th class="number">Times</th>
          <th class="number">Waited</th>
          <th>Rule</th>
        </tr>
      </thead>
      <tbody>
        {of.map(({ tool, subject, times, waitedMs, rejected, rule, alsoAllows, others, wider }) => (
          <tr>
            <td>
              <b>{shown(tool)}</b> <span class="mono">{shown(subject)}</span>
            </td>
            <td class="number" data-name="Times">
              {times}
              {rejected > 0 && <div class="small quiet">{rejected} denied</div>}
            </td>
            <td class="number" data-name="Waited">
              {duration(waitedMs)}
            </td>
            <td>
              {rule === undefined ? <span class="quiet">none: no rule may answer it</span> : <RuleText rule={rule} />}
              <AlsoAllows of={alsoAllows} />
              {others && <Others of={others} />}
              {wider && (
                <details class="small">
                  <summary>
                    A wider rule would have avoided {wider.times} {wider.times === 1 ? 'question' : 'questions'}
                  </summary>
                  <RuleText rule={wider.rule} />
                  <AlsoAllows of={wider.alsoAllows} />
                  <Others of={wider.others} />
                </details>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </section>
)

const AlsoAllows = ({ of }: { of: readonly string[] }) => of.length > 0 && (
  <div class="small">
    <span class="quiet">It would also allow:</span>
    <Lines of={of} />
  </div>
)

/** Which other recorded calls a rule would have decided otherwise. */
const Others = ({ of: { asked, denied, examples, byKey } }: { of: OtherCalls }) => (
  <div class="small quiet">
    {asked + denied === 0
      ? 'No other recorded call would have been decided otherwise.'
      : `Of other recorded calls, it would have allowed ${asked} that asked and ${denied} that ${denied === 1 ? 'was' : 'were'} denied: `}
    <span class="mono">{examples.map(shown).join(', ')}</span>
    {asked + denied > examples.length && ', …'}
    {byKey > 0 && ` (${byKey} compared by key, because the audit has no arguments)`}
  </div>
)

const Findings = ({ of }: { of: readonly PolicyFinding[] }) => (
  <section class="panel">
    <header>
      <h2>Findings</h2>
    </header>
    <table class="folds">
      <thead class="for-readers">
        <tr>
          <th>Kind</th>
          <th>Finding</th>
          <th>Place</th>
        </tr>
      </thead>
      <tbody>
        {of.map(({ kind, words, file, line }) => (
          <tr>
            <td>
              <span class="badge person">{shown(kind)}</span>
            </td>
            <td>{shown(words)}</td>
            <td class="mono quiet">{place(file, line)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </section>
)

const place = (file?: string, line?: number): string =>
  file === undefined ? '' : shown(line === undefined ? file : `${file}:${line}`)

function Rules({ of }: { of: readonly RuleItem[] }) {
  return (
    <section class="panel">
      <header>
        <h2>Rules in effect</h2>
        <span class="quiet">{plural(of.length, 'rule')}</span>
      </header>
      {of.length === 0 ? (
        <p class="body quiet">No rule is written. The mode decides about gated calls.</p>
      ) : (
        <table class="folds">
          <thead>
            <tr>
              <th>Rule</th>
              <th>Written in</th>
              <th class="number">Hits</th>
              <th class="number">Last</th>
            </tr>
          </thead>
          <tbody>
            {of.map((rule) => (
              <tr class={rule.cannotWin === undefined ? '' : 'never'}>
                <td>
                  <RuleText rule={rule} />
                  {rule.cannotWin !== undefined && (
                    <div class="small person">Never decides: {shown(rule.cannotWin)}</div>
                  )}
                </td>
                <td>
                  <span class="badge">{shown(rule.author)}</span>{' '}
                  <span class="mono quiet">{place(rule.file, rule.line)}</span>
                </td>
                <td class="number" data-name="Hits">
                  {rule.hits.toLocaleString('en')}
                </td>
                <td class="number" data-name="Last">
                  {rule.lastAt === undefined ? 'never' : <span title={when(rule.lastAt)}>{clock(rule.lastAt)}</span>}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  )
}

const Approvals = ({ of }: { of: readonly ApprovalItem[] }) => (
  <section class="panel">
    <header>
      <h2>Approvals that last</h2>
    </header>
    <table class="folds">
      <thead>
        <tr>
          <th>Covers</th>
          <th>Given</th>
          <th class="number">Uses</th>
          <th>Ends</th>
        </tr>
      </thead>
      <tbody>
        {of.map(({ tool, covers, scope, grantedAt, grantedBy, expiresAt, uses, status }) => (
          <tr class={status === 'standing' ? '' : 'never'}>
            <td>
              <b>{shown(tool)}</b> {shown(covers)}
            </td>
            <td data-name="Given">
              {clock(grantedAt)} by {shown(grantedBy)}
            </td>
            <td class="number" data-name="Uses">
              {uses}
            </td>
            <td data-name="Ends">
              {status !== 'standing' ? status : expiresAt === undefined ? `with the ${scope}` : when(expiresAt)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </section>
)
