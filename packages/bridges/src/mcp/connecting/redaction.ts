/** Texts of a server without the values of secrets, whoever put them there. */
export function redactorOf(secrets: ReadonlyMap<string, string>): (text: string) => string {
  const written = [...secrets].flatMap(([name, value]) => {
    const bare = value.replace(/^Bearer\s+/i, '')
    const forms = [value, ...(bare.length > 0 ? [bare] : []), JSON.stringify(value).slice(1, -1)]
    return forms.map((form) => [form, `[secret ${name}]`] as const)
  })
  return (text) => written.reduce((redacted, [form, shown]) => redacted.replaceAll(form, shown), text)
}
