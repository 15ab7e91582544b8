import { useState } from 'preact/hooks'
import type { Json } from '@bulkhead/kit/json'
import { shown } from '../model/words.ts'
import { FieldFault } from './form-fields.tsx'

interface OneField {
  readonly title: string
  readonly description?: string | undefined
  readonly value: Json | undefined
  readonly fault?: string | undefined
  accepts?(value: Json): boolean
  /** Empty is undefined. */
  onChange(value: Json | undefined): void
  /** Whether the text is no JSON, or is not accepted. */
  onWrong(isWrong: boolean): void
}

/** A value that is written as JSON. */
export function JsonField({ title, description, value, fault, accepts = () => true, onChange, onWrong }: OneField) {
  const [text, setText] = useState(() => (value === undefined ? '' : JSON.stringify(value, null, 2)))
  const [isWrong, setWrong] = useState(false)
  const take = (next: string): void => {
    setText(next)
    const parsed = next.trim() === '' ? { value: undefined } : parsedJson(next)
    const isBad = parsed === undefined || (parsed.value !== undefined && !accepts(parsed.value))
    setWrong(isBad)
    onWrong(isBad)
    if (!isBad) onChange(parsed.value)
  }
  return (
    <label class="field">
      <span>
        {shown(title)}
        {description && <span class="quiet"> {shown(description)}</span>}
      </span>
      <textarea
        class="mono"
        rows={Math.min(12, text.split('\n').length + 1)}
        spellcheck={false}
        aria-invalid={isWrong || fault !== undefined}
        value={text}
        onInput={(event) => take(event.currentTarget.value)}
      />
      <FieldFault>{isWrong ? 'This is not the JSON of such a value.' : fault}</FieldFault>
    </label>
  )
}

function parsedJson(text: string): { readonly value: Json } | undefined {
  try {
    return { value: JSON.parse(text) as Json }
  } catch {
    return undefined
  }
}
