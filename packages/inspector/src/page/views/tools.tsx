import { useState } from 'preact/hooks'
import type { CallsView, ReachItem, ToolItem, ToolsView } from '../../protocol.ts'
import { about, get, post } from '../model/api.ts'
import { plural, shown, shortId, when } from '../model/words.ts'
import { useLoaded } from '../parts/hooks.ts'
import { Empty, Facts, Fault, Lines } from '../parts/texts.tsx'
import { CallForm } from './call-form.tsx'
import { InstallPreviewForm } from './install-preview.tsx'

const ORDER: Readonly<Record<ToolItem['layer'], number>> = { project: 0, global: 1, bundled: 2 }

/** Every tool with its origin, what it may do and what it adds. */
export function ToolsPage() {
  const [session, setSession] = useState('')
  const [text, setText] = useState('')
  const { view, fault, replace } = useLoaded<ToolsView>(
    `tools${session && `?session=${encodeURIComponent(session)}`}`,
    'tools',
  )
  if (fault !== undefined)
    return (
      <Empty title="The tools could not be read">
        <p>{fault}</p>
      </Empty>
    )
  if (view === undefined) return <Empty title="Reading…" />
  const wanted = text.toLowerCase()
  const found = view.tools.filter((tool) =>
    [tool.name, tool.label, tool.extension, tool.server, ...tool.may].some((one) =>
      one?.toLowerCase().includes(wanted),
    ),
  )
  const origins = [...Map.groupBy(found, originOf)].toSorted(([, [a]], [, [b]]) => ORDER[a!.layer] - ORDER[b!.layer])
  const shadowing = view.tools.filter(({ shadows }) => shadows.length > 0).length
  return (
    <div class="wide views-grid">
      <div class="row">
        <input
          type="search"
          placeholder="Filter tools"
          aria-label="Filter tools"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <SessionSelect session={session} onChange={setSession} />
      </div>
      <div class="figures">
        <Figure
          value={String(view.tools.filter(({ on }) => on).length)}
          words={`of ${plural(view.tools.length, 'tool')} offered`}
        />
        <Figure value={view.tokens.toLocaleString('en')} words="tokens of definitions, about" />
        <Figure value={String(view.reach.length)} words="things within reach" />
        <Figure value={String(shadowing)} words="hide another tool" />
      </div>
      <Reach of={view.reach} isOfSession={session !== ''} />
      {origins.map(([origin, tools]) => (
        <section class="panel" aria-label={shown(origin)} key={origin}>
          <OriginHead tool={tools[0]!} />
          {tools.map((tool) => (
            <Tool key={tool.name} tool={tool} session={session} onChanged={replace} />
          ))}
        </section>
      ))}
      {found.length === 0 && <Empty title="No tool matches" />}
      {view.diagnostics.length > 0 && (
        <section class="panel">
          <header>
            <h2>Problems</h2>
          </header>
          <div class="body">
            <Lines of={view.diagnostics} />
          </div>
        </section>
      )}
      <InstallPreviewForm />
    </div>
  )
}

/** The bundled extensions are one origin. */
const originOf = ({ layer, extension, version, server }: ToolItem): string =>
  layer === 'bundled' ? 'Bundled with this host' : (server ?? `${extension} ${version}`)

export const Figure = ({ value, words }: { value: string; words: string }) => (
  <div class="panel figure">
    <b>{value}</b>
    <span>{words}</span>
  </div>
)

function SessionSelect({ session, onChange }: { session: string; onChange(session: string): void }) {
  const { view } = useLoaded<CallsView>('calls?limit=1')
  return (
    <select aria-label="Session" onChange={(event) => onChange(event.currentTarget.value)}>
      <option value="">As a new session would have them</option>
      {view?.sessions
        .filter(({ open }) => open)
        .map(({ id, agent, principal }) => (
          <option value={id} selected={id === session}>
            {shown(['session', shortId(id), agent, principal].filter(Boolean).join(' '))}
          </option>
        ))}
    </select>
  )
}

function Reach({ of, isOfSession }: { of: readonly ReachItem[]; isOfSession: boolean }) {
  return (
    <details class="panel" open={of.length <= 6}>
      <summary class="body">What {isOfSession ? 'this session' : 'a new session'} could reach in total</summary>
      <ul class="body reach">
        {of.map(({ kind, words, tools }) => (
          <li>
            <span class="badge">{shown(kind)}</span>
            <span>
              {shown(words)}{' '}
              <span class="quiet small">
                {shown(
                  tools.length > 5 ? `${tools.slice(0, 5).join(', ')} and ${tools.length - 5} more` : tools.join(', '),
                )}
              </span>
            </span>
          </li>
        ))}
      </ul>
    </details>
  )
}

function OriginHead({ tool }: { tool: ToolItem }) {
  const { layer, integrity, signer, unconfined } = tool
  return (
    <header class="origin-head">
      <h2>{shown(originOf(tool))}</h2>
      {layer !== 'bundled' && (
        <>
          <span class={`badge${layer === 'project' ? ' accent' : ''}`}>{layer}</span>
          <span class={`badge ${integrity === 'signed' || integrity === 'verified' ? 'good' : ''}`}>
            {shown(signer === undefined ? integrity : `signed by ${signer}`)}
          </span>
        </>
      )}
      {unconfined !== undefined && (
        <span class="badge bad" title={shown(unconfined)}>
          not in a jail
        </span>
      )}
    </header>
  )
}

interface OneTool {
  readonly tool: ToolItem
  readonly session: string
  onChanged(view: ToolsView): void
}

function Tool({ tool, session, onChanged }: OneTool) {
  const [isOpen, setOpen] = useState(false)
  const [fault, setFault] = useState<string>()
  const { name, label, use, tokens, adds, shadows, off, fixed } = tool
  const turn = (on: boolean): void => {
    post<ToolsView>(`tools/${encodeURIComponent(name)}`, { session, on }).then(onChanged, (error: Error) =>
      setFault(error.message),
    )
  }
  const why =
    session === ''
      ? 'Choose a session to switch its tools.'
      : (fixed ?? (about.value?.decide ? undefined : 'The inspector only reads.'))
  return (
    <div class="tool-item">
      <div class="tool-head">
        <button class="fold" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          <b>{shown(name)}</b>
          {label !== name && <span class="quiet">{shown(label)}</span>}
          {tool.gated && <span class="badge">asks</span>}
          {shadows.length > 0 && <span class="badge person">hides another</span>}
          {adds.length > 0 && <span class="badge accent">adds {adds.length}</span>}
        </button>
        <span class="quiet small number">
          {use.calls === 0 ? 'not used' : plural(use.calls, 'call')} · {tokens} tokens
        </span>
        <input
          type="checkbox"
          role="switch"
          class="switch"
          aria-label={`${shown(name)} is offered`}
          checked={tool.on}
          disabled={why !== undefined}
          title={why ?? off}
          onChange={(event) => turn(event.currentTarget.checked)}
        />
        {off !== undefined && <p class="small person">{shown(off)}</p>}
        <Fault>{fault}</Fault>
      </div>
      {isOpen && <ToolBody tool={tool} session={session} />}
    </div>
  )
}

function ToolBody({ tool, session }: { tool: ToolItem; session: string }) {
  const { name, description, may, adds, shadows, use, mode, state } = tool
  const [isCalling, setCalling] = useState(false)
  return (
    <div class="tool-body">
      <p class="shown-lines">{shown(description)}</p>
      <Facts
        of={[
          ['May', may.length > 0 ? <Lines of={may} /> : 'nothing beside computing'],
          ['Only it adds', adds.length > 0 && <Lines of={adds} />],
          ['Hides', shadows.length > 0 && <Lines of={shadows} />],
          ['Acts as', shown(mode)],
          ['State', shown(state)],
          [
            'In 30 days',
            `${plural(use.calls, 'call')}, ${use.failed} failed, ${use.denied} denied, ${use.asked} asked (${shown(use.from)})`,
          ],
          ['Last used', use.lastAt && when(use.lastAt)],
        ]}
      />
      {about.value?.decide &&
        (isCalling ? (
          <CallForm tool={name} session={session} />
        ) : (
          <div>
            <button onClick={() => setCalling(true)}>Call it…</button>
          </div>
        ))}
    </div>
  )
}

/** For the form of "try a call": names of the tools of a new session. */
export const toolNames = async (): Promise<readonly string[]> =>
  (await get<ToolsView>('tools')).tools.map(({ name }) => name)
