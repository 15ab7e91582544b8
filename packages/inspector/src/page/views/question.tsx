import { useState } from 'preact/hooks'
import type { Json } from '@bulkhead/kit/json'
import type { WaitingQuestion } from '../../protocol.ts'
import { decide } from '../model/waiting.ts'
import { clock, shown, shownLines } from '../model/words.ts'
import { Fault, Lines } from '../parts/texts.tsx'
import { useDeciding } from './answers.tsx'
import { FormFields, initialValues } from '../parts/form-fields.tsx'

/** A question of a tool or of the host, and the fields for its answer. */
export function QuestionBody({ item }: { item: WaitingQuestion }) {
  const { isInert, fault, take } = useDeciding(item)
  const answer = (value: Json): void => take(() => decide(item, { do: 'answer', value }))
  const { request } = item
  return (
    <>
      <div class="body">
        {'prompt' in request && <p class="shown-lines">{shownLines(request.prompt)}</p>}
        {request.kind === 'Auth.DeviceCode' && (
          <p>
            Open <code>{shown(request.url)}</code> and enter <code>{shown(request.code)}</code>. The code ends at{' '}
            {clock(Date.parse(request.expiresAt))}.
          </p>
        )}
        {request.kind === 'trustProject' && (
          <div class="stack">
            <p>
              Use the tools and settings that <code>{shown(request.path)}</code> brings?
            </p>
            <Lines of={request.summary.split('\n')} />
          </div>
        )}
      </div>
      {item.unanswerable !== undefined ? (
        <p class="answers quiet">{shown(item.unanswerable)}</p>
      ) : (
        <fieldset class="answers" disabled={isInert} aria-label="Answers">
          <Fields item={item} onAnswer={answer} />
          <Fault>{fault}</Fault>
        </fieldset>
      )}
    </>
  )
}

function Fields({ item: { request }, onAnswer }: { item: WaitingQuestion; onAnswer(value: Json): void }) {
  const decline = (
    <button type="button" class="deny" onClick={() => onAnswer(null)}>
      Decline
    </button>
  )
  switch (request.kind) {
    case 'Ask':
      return <TextAnswer onAnswer={onAnswer}>{decline}</TextAnswer>
    case 'Auth.Password':
      return (
        <TextAnswer isSecret onAnswer={onAnswer}>
          {decline}
        </TextAnswer>
      )
    case 'Confirm':
      return (
        <div class="answer-row first">
          <button class="deny" onClick={() => onAnswer(false)}>
            No
          </button>
          <button class="main" onClick={() => onAnswer(true)}>
            Yes
          </button>
        </div>
      )
    case 'Select':
      return (
        <Choices request={request} onAnswer={onAnswer}>
          {decline}
        </Choices>
      )
    case 'Form':
      return (
        <FormAnswer request={request} onAnswer={onAnswer}>
          {decline}
        </FormAnswer>
      )
    case 'Auth.DeviceCode':
      return (
        <div class="answer-row">
          {decline}
          <button onClick={() => onAnswer(true)}>I have entered it</button>
        </div>
      )
    case 'trustProject':
      return (
        <div class="answer-row first">
          <button class="deny" onClick={() => onAnswer('declined')}>
            Do not use it
          </button>
          <button class="main" onClick={() => onAnswer('once')}>
            Use it once
          </button>
          <button onClick={() => onAnswer('trusted')}>Trust it until it changes</button>
        </div>
      )
  }
}

interface Answering {
  readonly children: preact.ComponentChildren
  onAnswer(value: Json): void
}

function TextAnswer({ isSecret = false, onAnswer, children }: Answering & { isSecret?: boolean }) {
  const [text, setText] = useState('')
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault()
        onAnswer(text)
      }}
    >
      <label class="field">
        {isSecret ? 'Password' : 'Answer'}
        <input
          required
          type={(isSecret ? 'password' : 'text') as 'text'}
          autocomplete="off"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      <div class="answer-row first">
        {children}
        <button class="main">Answer</button>
      </div>
    </form>
  )
}

function Choices({
  request,
  onAnswer,
  children,
}: Answering & { request: Extract<WaitingQuestion['request'], { kind: 'Select' }> }) {
  const [chosen, setChosen] = useState<readonly string[]>([])
  const { multiple = false, options } = request
  const choose = (label: string): void => {
    const others = chosen.filter((one) => one !== label)
    setChosen(multiple ? (others.length === chosen.length ? [...chosen, label] : others) : [label])
  }
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault()
        onAnswer(multiple ? [...chosen] : chosen[0]!)
      }}
    >
      {options.map(({ label, description }) => (
        <label class="row tight">
          <input
            type={multiple ? 'checkbox' : 'radio'}
            name="choice"
            checked={chosen.includes(label)}
            onChange={() => choose(label)}
          />
          <span>
            {shown(label)} {description && <span class="quiet">{shown(description)}</span>}
          </span>
        </label>
      ))}
      <div class="answer-row first">
        {children}
        <button class="main" disabled={chosen.length === 0}>
          Answer
        </button>
      </div>
    </form>
  )
}

function FormAnswer({
  request,
  onAnswer,
  children,
}: Answering & { request: Extract<WaitingQuestion['request'], { kind: 'Form' }> }) {
  const [values, setValues] = useState(() => initialValues(request.schema))
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault()
        onAnswer(values)
      }}
    >
      <FormFields schema={request.schema} values={values} onChange={setValues} />
      <div class="answer-row first">
        {children}
        <button class="main">Answer</button>
      </div>
    </form>
  )
}
