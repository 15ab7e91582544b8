import { useEffect, useState } from 'preact/hooks'
import type { JsonObject } from '@bulkhead/kit/json'
import type { TriedCall } from '../../protocol.ts'
import { post } from '../model/api.ts'
import { shown } from '../model/words.ts'
import { Facts, Fault, Lines } from '../parts/texts.tsx'
import { toolNames } from './tools.tsx'

const DECISIONS = { allow: 'It would run', ask: 'A person would be asked', deny: 'It would be denied' } as const

/** Judges a call by the policy of now. Asks no person and runs nothing. */
export function TryCallForm() {
  const [names, setNames] = useState<readonly string[]>([])
  const [tool, setTool] = useState('bash')
  const [text, setText] = useState('{ "command": "git status" }')
  const [tried, setTried] = useState<TriedCall>()
  const [fault, setFault] = useState<string>()
  useEffect(() => {
    toolNames().then(setNames, () => undefined)
  }, [])
  const submit = (event: Event): void => {
    event.preventDefault()
    setFault(undefined)
    let parsed: JsonObject
    try {
      parsed = JSON.parse(text) as JsonObject
    } catch {
      setFault('The arguments are not JSON.')
      return
    }
    post<TriedCall>('policy/try', { tool, arguments: parsed }).then(setTried, (error: Error) => setFault(error.message))
  }
  return (
    <section class="panel" aria-labelledby="try">
      <header>
        <h2 id="try">Try a call</h2>
        <span class="quiet">Asks no person and runs nothing</span>
      </header>
      <div class="body stack">
        <form class="try" onSubmit={submit}>
          <label class="field">
            Tool
            <input
              list="tool-names"
              required
              autocomplete="off"
              value={tool}
              onInput={(event) => setTool(event.currentTarget.value)}
            />
            <datalist id="tool-names">
              {names.map((name) => (
                <option value={name} />
              ))}
            </datalist>
          </label>
          <label class="field">
            Arguments, as JSON
            <textarea
              class="mono"
              rows={2}
              spellcheck={false}
              value={text}
              onInput={(event) => setText(event.currentTarget.value)}
            />
          </label>
          <div>
            <button>Try it</button>
          </div>
        </form>
        <Fault>{fault}</Fault>
        {tried !== undefined && fault === undefined && <Verdict of={tried} />}
      </div>
    </section>
  )
}

const Verdict = ({ of: { decision, code, chain, remedies, wall } }: { of: TriedCall }) => (
  <div class="stack" role="status">
    <p>
      <b class={`action ${decision}`}>{DECISIONS[decision]}.</b> {code && <code>{shown(code)}</code>}
    </p>
    <div class="scrolls">
      <table>
        <thead>
          <tr>
            <th>Step</th>
            <th>Says</th>
            <th>Who</th>
            <th>Why</th>
          </tr>
        </thead>
        <tbody>
          {chain.map(({ stage, action, source, reason }) => (
            <tr>
              <td>{shown(stage)}</td>
              <td class={`action ${action}`}>{shown(action)}</td>
              <td>{shown(source)}</td>
              <td>{shown(reason)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
    <Facts
      of={[
        ['Wall', wall && shown(wall)],
        ['To change that', remedies.length > 0 && <Lines of={remedies} />],
      ]}
    />
  </div>
)
