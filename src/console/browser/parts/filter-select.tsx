/** A filter of a list: one of a few values, or any. `label` names the filter, and stands for any value. */
export function FilterSelect({
  label,
  value,
  options,
  onChange,
}: {
  label: string
  value: string | undefined
  /** Each value with its text. */
  options: readonly (readonly [value: string, text: string])[]
  onChange: (value: string) => void
}) {
  return (
    <select
      className="input"
      aria-label={label}
      value={value ?? ''}
      onChange={(event) => onChange(event.target.value)}
    >
      <option value="">{label}</option>
      {options.map(([one, text]) => (
        <option key={one} value={one}>
          {text}
        </option>
      ))}
    </select>
  )
}
