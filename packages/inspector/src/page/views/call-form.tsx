import { signal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import type { FormValues } from '@bulkhead/kit/form'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import type { MadeCall, ToolInput } from '../../protocol.ts'
import { get, post } from '../model/api.ts'
import { callFields, initialArguments, type CallField } from '../model/call-fields.ts'
import { addressOf } from '../model/route.ts'
import { waiting } from '../model/waiting.ts'
import { shown } from '../model/words.ts'
import { FormFields } from '../parts/form-fields.tsx'
import { JsonField } from '../parts/json-field.tsx'
import { Code, Empty, Fault } from '../parts/texts.tsx'

/** A call that was made by a form, by tool. It goes on while another view is shown. */
type Made = { readonly call: string; readonly done?: MadeCall; readonly fault?: string }
const made = signal<Readonly<Record<string, Made>>>({})

/** Calls a tool with arguments that a person fills in. The policy decides as about any other call. */
export function CallForm({ tool, session }: { tool: string; session: string }) {
  const [input, setInput] = useState<ToolInput>()
  const [fault, setFault] = useState<string>()
  useEffect(() => {
    get<ToolInput>(`tools/${encodeURIComponent(tool)}`).then(setInput, (error: Error) => setFault(error.message))
  }, [tool])
  if (fault !== undefined) return <Fault>{fault}</Fault>
  return input === undefined ? <Empty title="Reading…" /> : <Filled input={input} tool={tool} session={session} />
}

function Filled({ input: { schema }, tool, session }: { input: ToolInput; tool: string; session: string }) {
  const fields = callFields(schema)
  const [values, setValues] = useState<JsonObject>(() => initialArguments(schema))
  const [wrong, setWrong] = useState<ReadonlySet<string>>(new Set())
  const [asJson, setAsJson] = useState(fields === undefined)
  const current = made.value[tool]
  const isRunning = current !== undefined && current.done === undefined && current.fault === undefined
  const set = (name: string, value: Json | undefined): void => {
    const { [name]: _, ...others } = values
    setValues(value === undefined ? others : { ...others, [name]: value })
  }
  const note = (name: string, isWrong: boolean): void => {
    const { [name]: _, ...others } = Object.fromEntries([...wrong].map((one) => [one, true]))
    setWrong(new Set(isWrong ? [...Object.keys(others), name] : Object.keys(others)))
  }
  const submit = (event: Event): void => {
    event.preventDefault()
    void makeCall(tool, session, values)
  }
  const refused = current?.done?.wrong
  const faultOf = (name: string): string | undefined =>
    refused !== undefined && argumentOf(refused.path) === name ? refused.message : undefined
  const isPlaced = !asJson && fields!.some(({ name }) => faultOf(name) !== undefined)
  return (
    <section class="stack" aria-label={`Call ${shown(tool)}`}>
      <form class="stack" noValidate onSubmit={submit}>
        {asJson ? (
          <JsonField
            title="Arguments, as JSON"
            value={values}
            accepts={isJsonObject}
            onChange={(value) => setValues((value ?? {}) as JsonObject)}
            onWrong={(isWrong) => note('', isWrong)}
          />
        ) : (
          fields!.map((field) => (
            <Argument
              key={field.name}
              field={field}
              value={values[field.name]}
              fault={faultOf(field.name)}
              onChange={(value) => set(field.name, value)}
              onWrong={(isWrong) => note(field.name, isWrong)}
            />
          ))
        )}
        {!asJson && fields?.length === 0 && <p class="quiet">It takes no arguments.</p>}
        <div class="row">
          <button class="main" disabled={isRunning || wrong.size > 0}>
            Call {shown(tool)}
          </button>
          {fields !== undefined && (
            <button
              type="button"
              class="plain"
              onClick={() => {
                setWrong(new Set())
                setAsJson(!asJson)
              }}
            >
              {asJson ? 'As a form' : 'As JSON'}
            </button>
          )}
          <span class="quiet small">
            {session === '' ? 'In a new session, which ends with the call.' : 'In the chosen session.'} The policy decides.
          </span>
        </div>
      </form>
      <Fault>{current?.fault ?? (isPlaced ? undefined : refused?.message)}</Fault>
      {isRunning && <Running call={current.call} />}
      {current?.done && refused === undefined && <Done of={current.done} />}
    </section>
  )
}

/** The argument that the host refused. */
const argumentOf = (path: string): string | undefined =>
  /^\/([^/]*)/.exec(path)?.[1]?.replaceAll('~1', '/').replaceAll('~0', '~')

async function makeCall(tool: string, session: string, values: JsonObject): Promise<void> {
  const call = `form-${crypto.randomUUID()}`
  const keep = (now: Omit<Made, 'call'>): void => {
    if (made.peek()[tool]?.call === call || now.done === undefined) made.value = { ...made.peek(), [tool]: { call, ...now } }
  }
  keep({})
  try {
    const body = { tool, arguments: values, call, ...(session !== '' && { session }) }
    keep({ done: await post<MadeCall>('calls', body) })
  } catch (error) {
    keep({ fault: (error as Error).message })
  }
}

interface OneArgument {
  readonly field: CallField
  readonly value: Json | undefined
  readonly fault: string | undefined
  onChange(value: Json | undefined): void
  onWrong(isWrong: boolean): void
}

function Argument({ field: { name, title, description, form }, value, fault, onChange, onWrong }: OneArgument) {
  if (form === undefined) {
    return (
      <JsonField
        title={`${title}, as JSON`}
        description={description}
        value={value}
        fault={fault}
        onChange={onChange}
        onWrong={onWrong}
      />
    )
  }
  const values = (value === undefined ? {} : { [name]: value }) as FormValues
  return <FormFields schema={form} values={values} fault={fault} onChange={(next) => onChange(next[name] as Json)} />
}

function Running({ call }: { call: string }) {
  const asks = waiting.value?.items.some((item) => item.call === call)
  return (
    <p role="status">
      {asks ? (
        <>
          It waits for a person: <a href={addressOf('waiting')}>answer it</a>.
        </>
      ) : (
        'It runs…'
      )}
    </p>
  )
}

const Done = ({ of: { id, succeeded, outcome, cut } }: { of: MadeCall }) => (
  <div class="stack" role="status">
    <p>
      <b class={succeeded ? 'stands' : 'bad'}>{succeeded ? 'It succeeded.' : 'It failed.'}</b>{' '}
      <a href={addressOf('calls', id)}>See the call</a>
    </p>
    <Code text={outcome} label="Outcome" />
    {cut && <p class="quiet small">It was longer, and is cut.</p>}
  </div>
)
